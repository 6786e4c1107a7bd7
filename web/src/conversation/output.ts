/** What tools print: long ones by their head and tail, with how they ended. */

const HEAD = 12;
const TAIL = 24;
/** Fewer lines in between are not worth a click. */
const WORTH = 8;
const WIDEST = 2000;

type Excerpt = { head: string; hidden: number; tail: string };

export function excerpt(text: string): Excerpt {
  const lines = text.replace(/\n$/, "").split("\n").map(narrow);
  const hidden = lines.length - HEAD - TAIL;
  if (hidden < WORTH) return { head: lines.join("\n"), hidden: 0, tail: "" };
  return {
    head: lines.slice(0, HEAD).join("\n"),
    hidden,
    tail: lines.slice(-TAIL).join("\n"),
  };
}

/** A line of a megabyte would take the browser seconds to lay out. */
export function narrow(line: string): string {
  return line.length > WIDEST ? `${line.slice(0, WIDEST)}…` : line;
}

/** What `terminal` writes below what was printed. */
const EXIT = /\n?\[exit status (\d+) after [\d.]+ s\]$/;

export function exitStatus(text: string): number | null {
  const found = EXIT.exec(text);
  return found ? Number(found[1]) : null;
}

export function withoutExit(text: string): string {
  return text.replace(EXIT, "");
}

/** The unified diff in the answer of a tool that edits: "Changed a.py.\n@@ ...". */
export function diffIn(text: string): string | null {
  const found = /^(--- |@@ )/m.exec(text);
  return found ? text.slice(found.index) : null;
}

/** The first line that says something. */
export function firstLine(text: string): string {
  const line = text.split("\n", 50).find((each) => each.trim()) ?? "";
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
