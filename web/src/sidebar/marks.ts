/** A text cut where something in it was found. */

export type Piece = { text: string; isMarked: boolean };

/** `marks` are pairs of start and end, counted in characters as the server does, not in units of
 * UTF-16. */
export function pieces(text: string, marks: readonly (readonly unknown[])[]): Piece[] {
  const characters = Array.from(text);
  const found: Piece[] = [];
  let at = 0;
  for (const [start, end] of marks) {
    if (typeof start !== "number" || typeof end !== "number" || start < at) continue;
    found.push({ text: characters.slice(at, start).join(""), isMarked: false });
    found.push({ text: characters.slice(start, end).join(""), isMarked: true });
    at = end;
  }
  found.push({ text: characters.slice(at).join(""), isMarked: false });
  return found.filter((each) => each.text);
}
