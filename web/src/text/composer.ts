/** Words of the composer. */
export const composer = {};
