/** What went wrong where no server could say it. */
export const errors = {
  offline: "Roost can't be reached",
  offlineDetail: "Check the connection; what you wrote is kept here.",
  notStopped: "Nothing was stopped: Roost can't be reached.",
  unexpected: "Something went wrong",
  unexpectedDetail: "The answer could not be read. Reload the page.",
};
