/** Words of the shell. */
export const shell = {};
