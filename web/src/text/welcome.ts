/** Words of the welcome. */
export const welcome = {};
