/** A unified diff, read into lines with their numbers and with the words that differ. */

type Word = { text: string; changed: boolean };
export type Line = {
  kind: "same" | "added" | "removed";
  /** Its number in the file before and after, where it is in it. */
  before?: number;
  after?: number;
  words: Word[];
};
export type Hunk = { title: string; lines: Line[] };
export type Diff = {
  hunks: Hunk[];
  /** What is said before the hunks, and after them. */
  notes: string[];
  rest: string[];
  added: number;
  removed: number;
};

const HEADER = /^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@+ ?(.*)$/;
const MOST_WORDS = 200;
const ALIKE = 0.4;

/** Reads what our tools answer (a sentence, hunks, perhaps a note on what was left out) as well as
 * a whole patch. Lines outside of hunks that are not headers are notes. */
export function readDiff(text: string): Diff {
  const diff: Diff = { hunks: [], notes: [], rest: [], added: 0, removed: 0 };
  const lines = text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");
  for (let at = 0; at < lines.length;) {
    const header = HEADER.exec(lines[at]!);
    if (header) at = readHunk(lines, at + 1, { header, diff });
    else readOther(lines[at++]!, diff);
  }
  for (const { lines } of diff.hunks) compare(lines);
  return diff;
}

function readOther(line: string, diff: Diff): void {
  const isHeader = /^(?:---|\+\+\+|diff |index |new file|deleted file|\\ )/.test(line);
  if (!isHeader && line.trim()) (diff.hunks.length ? diff.rest : diff.notes).push(line);
}

/** The counts in the header say where a hunk ends: a removed line may look like a header. */
function readHunk(
  lines: string[],
  from: number,
  { header, diff }: { header: RegExpExecArray; diff: Diff },
): number {
  const hunk: Hunk = { title: header[5]!, lines: [] };
  diff.hunks.push(hunk);
  let before = Number(header[1]);
  let after = Number(header[3]);
  const end = { before: before + Number(header[2] ?? 1), after: after + Number(header[4] ?? 1) };
  let at = from;
  for (; at < lines.length && (before < end.before || after < end.after); at++) {
    const line = lines[at]!;
    const words = [{ text: line.slice(1), changed: false }];
    if (line[0] === "+") hunk.lines.push({ kind: "added", after: after++, words });
    else if (line[0] === "-") hunk.lines.push({ kind: "removed", before: before++, words });
    else if (line[0] === " " || line === "") {
      hunk.lines.push({ kind: "same", before: before++, after: after++, words });
    } else if (!line.startsWith("\\ ")) break;
  }
  diff.added += hunk.lines.filter((line) => line.kind === "added").length;
  diff.removed += hunk.lines.filter((line) => line.kind === "removed").length;
  return at;
}

/** Marks words in lines that took each other's place: removed ones, and added ones right after. */
function compare(lines: Line[]): void {
  for (let at = 0; at < lines.length;) {
    const removed = runOf(lines, at, "removed");
    const added = runOf(lines, at + removed, "added");
    for (let n = 0; n < Math.min(removed, added); n++) {
      compareLines(lines[at + n]!, lines[at + removed + n]!);
    }
    at += Math.max(1, removed + added);
  }
}

function runOf(lines: Line[], from: number, kind: Line["kind"]): number {
  let at = from;
  while (lines[at]?.kind === kind) at++;
  return at - from;
}

function compareLines(before: Line, after: Line): void {
  const old = wordsOf(before);
  const now = wordsOf(after);
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return;
  const common = inBoth(old, now);
  const share =
    lengthOf(old.filter((_, n) => common.old.has(n))) / Math.max(lengthOf(old), lengthOf(now), 1);
  // In lines with little in common, the marks would say less than the colours of the lines.
  if (share < ALIKE) return;
  before.words = marked(old, common.old);
  after.words = marked(now, common.now);
}

function wordsOf(line: Line): string[] {
  return line.words[0]!.text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function lengthOf(words: string[]): number {
  return words.join("").trim().length;
}

/** The places of a longest common subsequence. */
function inBoth(old: string[], now: string[]): { old: Set<number>; now: Set<number> } {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [here, below] = [lengths[i]!, lengths[i + 1]!];
      here[j] = old[i] === now[j] ? below[j + 1]! + 1 : Math.max(below[j]!, here[j + 1]!);
    }
  }
  const found = { old: new Set<number>(), now: new Set<number>() };
  for (let i = 0, j = 0; i < old.length && j < now.length;) {
    if (old[i] === now[j]) {
      found.old.add(i++);
      found.now.add(j++);
    } else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return found;
}

function marked(words: string[], common: Set<number>): Word[] {
  const parts: Word[] = [];
  words.forEach((text, n) => {
    const changed = !common.has(n);
    const last = parts.at(-1);
    if (last?.changed === changed) last.text += text;
    else parts.push({ text, changed });
  });
  return parts;
}
