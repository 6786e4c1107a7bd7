/** Finding names by some of their letters, in order. */

type Match = { score: number; marks: [number, number][] };

const CONSECUTIVE = 8;
const WORD_START = 6;
const FIRST = 4;

/** Null if not all letters are there. Runs of letters and starts of words count more. */
export function fuzzy(wanted: string, text: string): Match | null {
  const letters = folded(wanted).filter((each) => each.trim());
  if (!letters.length) return { score: 0, marks: [] };
  const held = folded(text);
  const whole = at(held, letters);
  if (whole >= 0) {
    const bonus = isStart(held, whole) ? WORD_START : 0;
    const score = letters.length * CONSECUTIVE + bonus + (whole ? 0 : FIRST);
    return { score: score - held.length / 100, marks: [[whole, whole + letters.length]] };
  }
  return scattered(letters, held);
}

/** The best of many, the better first; of two alike, the one that came first. */
export function best<T>(wanted: string, all: T[], text: (each: T) => string, most: number): T[] {
  return all
    .map((each) => ({ each, match: fuzzy(wanted, text(each)) }))
    .filter((found) => found.match !== null)
    .sort((a, b) => (b.match?.score ?? 0) - (a.match?.score ?? 0))
    .slice(0, most)
    .map((found) => found.each);
}

/** Letter by letter, each at the first place that is left. */
function scattered(letters: string[], held: string[]): Match | null {
  const marks: [number, number][] = [];
  let score = 0;
  let place = -1;
  for (const letter of letters) {
    const next = held.indexOf(letter, place + 1);
    if (next < 0) return null;
    const isRun = next === place + 1 && place >= 0;
    score += isRun ? CONSECUTIVE : isStart(held, next) ? WORD_START : 1;
    const last = marks.at(-1);
    if (isRun && last) last[1] = next + 1;
    else marks.push([next, next + 1]);
    place = next;
  }
  // Letters strewn all over a long text are a find by chance.
  if (score < letters.length * 4) return null;
  return { score: score - held.length / 100, marks };
}

/** In small letters and without accents; as many as there were. */
function folded(text: string): string[] {
  return Array.from(text, (each) => {
    const plain = Array.from(each.normalize("NFD"))[0] ?? each;
    return plain.toLowerCase();
  });
}

function at(held: string[], letters: string[]): number {
  for (let start = 0; start + letters.length <= held.length; start++) {
    if (letters.every((letter, n) => held[start + n] === letter)) return start;
  }
  return -1;
}

function isStart(held: string[], index: number): boolean {
  return index === 0 || !/[\p{L}\p{N}]/u.test(held[index - 1] ?? "");
}
