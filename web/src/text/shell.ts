/** Words of the shell. */
export const shell = {
  sidebar: "Sessions",
  panel: "Panel",
};
