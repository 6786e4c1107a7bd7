/** Which rows of a long list are in the page: those that are seen, and a few around them. */

const AROUND = 8;

type Seen = { scrolled: number; height: number; row: number };

/** From `first` up to, not with, `end`. */
export function windowOf(count: number, { scrolled, height, row }: Seen): [number, number] {
  const first = Math.floor(scrolled / row) - AROUND;
  const end = Math.ceil((scrolled + height) / row) + AROUND;
  return [Math.max(0, Math.min(first, count)), Math.min(count, Math.max(end, 0))];
}

/** The window, and with it the row that has the focus: taken out of the page it would lose it. */
export function shown(count: number, seen: Seen, focused: number): number[] {
  const [first, end] = windowOf(count, seen);
  const found = Array.from({ length: Math.max(0, end - first) }, (_, n) => first + n);
  if (focused < 0 || focused >= count || (focused >= first && focused < end)) return found;
  return focused < first ? [focused, ...found] : [...found, focused];
}

/** Where to scroll so that a row is seen; undefined if it is. */
export function scrollFor(index: number, { scrolled, height, row }: Seen): number | undefined {
  const top = index * row;
  if (top < scrolled) return top;
  return top + row > scrolled + height ? top + row - height : undefined;
}
