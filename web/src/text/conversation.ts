/** Words of the conversation. */
export const conversation = {};
