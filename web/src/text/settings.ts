/** Words of the settings. */
export const settings = {};
