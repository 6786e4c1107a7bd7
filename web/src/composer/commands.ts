/** What can be typed after a slash: the words of `roost chat`, and those that only a page has. */

import { t } from "../text/text";

const NAMES = [
  "new",
  "sessions",
  "stop",
  "undo",
  "restore",
  "retry",
  "continue",
  "compact",
  "clear",
  "model",
  "branch",
  "rename",
  "export",
  "usage",
  "help",
] as const;

export type CommandName = (typeof NAMES)[number];
export type Command = { name: CommandName; argument: string };

const ALIASES: Record<string, CommandName> = {
  "": "help",
  h: "help",
  reset: "new",
  resume: "sessions",
};
const WORD = /^\/[a-z]*$/i;

/** A path or a remark may begin with a slash too: a command is one plain word after it. */
export function isCommand(text: string): boolean {
  return WORD.test(text.trim().split(/\s/, 1)[0] ?? "");
}

/** The command that a text is; a string says what is wrong with it. */
export function parse(text: string): Command | string {
  const [, word = "", argument = ""] = /^\/(\S*)\s*([^]*)$/.exec(text.trim()) ?? [];
  const name = named(word.toLowerCase());
  return name ? { name, argument } : t.composer.unknownCommand(word, closest(word.toLowerCase()));
}

function named(word: string): CommandName | undefined {
  return NAMES.find((each) => each === word) ?? ALIASES[word];
}

/** Those that a word, as far as it is typed, may become; none once an argument follows. */
export function completions(text: string): CommandName[] {
  if (!WORD.test(text)) return [];
  const word = text.slice(1).toLowerCase();
  return NAMES.filter((name) => name.startsWith(word));
}

/** What `/model` may be followed by. */
export function modelWanted(text: string): string | null {
  return /^\/model\s+(\S*)$/i.exec(text)?.[1] ?? null;
}

/** The command that was probably meant. */
function closest(word: string): CommandName | null {
  const near = NAMES.map((name) => ({ name, far: distance(word, name) }));
  const best = near.reduce((a, b) => (b.far < a.far ? b : a));
  return best.far <= best.name.length / 2 ? best.name : null;
}

/** How many letters have to be added, left out or changed. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
