/** Where the reader was in each session, to come back to. */
export type Place = { key: string; offset: number };

export const places = new Map<string, Place | null>();
