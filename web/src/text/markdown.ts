/** Words around rendered text. */
export const markdown = {};
