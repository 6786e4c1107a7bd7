/** Words of the sidebar. */
export const sidebar = {};
