/** Words of the ui. */
export const ui = {
  notices: "Notices",
};
