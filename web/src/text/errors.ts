/** Titles of what the server refused: its own are those of HTTP, for programs. */
const REFUSED: Record<number, string> = {
  400: "That was not accepted",
  403: "Not allowed",
  404: "That is not there",
  409: "That does not fit any more",
  413: "Too large",
  429: "Too much at once",
  507: "There is no room",
};

/** What went wrong, where no server could say it or not in these words. */
export const errors = {
  offline: "Roost can't be reached",
  offlineDetail: "Check the connection, then try again.",
  /** It may have arrived: only the answer is known to be missing. */
  notChanged: "Nothing was changed, as far as this page knows. Try again when it is back.",
  notStopped: "Nothing was stopped, as far as this page knows. Try again when it is back.",
  refused: (status: number): string => REFUSED[status] ?? "Roost could not do that",
  unexpected: "Something went wrong",
  unexpectedDetail: "The answer could not be read. Reload the page.",
};
