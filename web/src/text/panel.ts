/** Words of the panel. */
export const panel = {};
