/** Text that is still being written, shown so that nothing flickers when the rest of it comes. */

import type { Token } from "markdown-it";

const LONGEST_WORD = 64;
const FAR = 400;
const MOST_OPENERS = 30;
// Scripts without spaces between words come by the character.
const UNSPACED =
  /[\s\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}、。，！？]/u;

/** The text without the word at its end that may still grow. Of the very first word, which is waited
 * for, one sees the letters: they are no sign of anything, and nothing is there that they could move. */
export function wholeWords(text: string): string {
  const whole = text.slice(0, lastWord(text));
  return whole.trim() ? whole : (/^\s*\p{L}[\p{L}\p{M}'’]*/u.exec(text)?.[0] ?? whole);
}

function lastWord(text: string): number {
  for (let at = text.length; at > text.length - LONGEST_WORD; at--) {
    if (at === 0 || UNSPACED.test(text[at - 1]!)) return at;
  }
  return text.length - (isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0);
}

/** The source of an open block, with what is half written at its end closed or held back. */
export function finished(source: string, tokens: Token[]): string {
  const leaf = tokens.findLast((token) => token.nesting === 0);
  if (leaf?.type !== "inline") return source;
  const start = leaf.map ? offsetOf(source, leaf.map[0]) : lastCell(source);
  const head = source.slice(0, start);
  return head + closed(leaf.map ? withoutHalfTable(source.slice(start)) : source.slice(start));
}

function offsetOf(source: string, line: number): number {
  let at = 0;
  for (let n = 0; n < line; n++) at = source.indexOf("\n", at) + 1;
  return at;
}

function lastCell(source: string): number {
  const line = source.lastIndexOf("\n", source.trimEnd().length) + 1;
  return Math.max(line, source.trimEnd().replace(/\|$/, " ").lastIndexOf("|") + 1);
}

/** The head of a table is a paragraph until the row of dashes below it is complete. */
function withoutHalfTable(leaf: string): string {
  return leaf.replace(/(?:^|\n)[ >]*\|[^\n]*(?:\n[ >]*[|:\- ]*)?\s*$/, "");
}

type Opener = { mark: string; at: number };

/** Paragraph text with its open code, emphasis and links ended. */
export function closed(text: string): string {
  const openers: Opener[] = [];
  const brackets: number[] = [];
  for (let at = 0; at < text.length;) {
    const mark = /[\\`*_~[\]]/g;
    mark.lastIndex = at;
    const found = mark.exec(text);
    if (!found) break;
    at = found.index;
    const sign = found[0];
    if (sign === "\\") at += 2;
    else if (sign === "`") {
      const end = afterCode(text, at);
      if (end === undefined) return openCode(text, at, openers);
      at = end;
    } else if (sign === "[") brackets.push(at++);
    else if (sign === "]") {
      const end = afterLink(text, at);
      const open = brackets.pop();
      if (end === undefined && open !== undefined)
        return openLink(text, { open, close: at, openers });
      at = end ?? at + 1;
    } else at = emphasis(text, at, openers);
  }
  return withClosers(text, openers);
}

function run(text: string, at: number): string {
  let end = at;
  while (text[end] === text[at]) end++;
  return text.slice(at, end);
}

function afterCode(text: string, at: number): number | undefined {
  const mark = run(text, at);
  for (let end = text.indexOf(mark, at + mark.length); end >= 0;) {
    const other = run(text, end);
    if (other.length === mark.length) return end + mark.length;
    end = text.indexOf(mark, end + other.length);
  }
  return undefined;
}

function openCode(text: string, at: number, openers: Opener[]): string {
  const mark = run(text, at);
  const content = text.slice(at + mark.length).trimEnd();
  if (!content) return withClosers(text.slice(0, at), openers);
  // Without the mark in between, code that ends in a backtick would not end.
  return withClosers(text.slice(0, at + mark.length) + content + mark, openers);
}

/** Where a link's address ends, the place itself if there is none, nothing if it is half written. */
function afterLink(text: string, at: number): number | undefined {
  if (text[at + 1] !== "(") return at + 1;
  const end = /^\((?:[^()\\\n]|\\.|\([^()\n]*\))*\)/.exec(text.slice(at + 1, at + 3000));
  if (end) return at + 1 + end[0].length;
  return text.slice(at + 1).includes("\n\n") || text.length > at + 3000 ? at + 1 : undefined;
}

function openLink(
  text: string,
  { open, close, openers }: { open: number; close: number; openers: Opener[] },
): string {
  const inside = openers.filter((opener) => opener.at < open);
  const image = text[open - 1] === "!";
  const before = text.slice(0, image ? open - 1 : open);
  return withClosers(image ? before : before + text.slice(open + 1, close), inside);
}

function emphasis(text: string, at: number, openers: Opener[]): number {
  const mark = run(text, at);
  const before = text[at - 1] ?? " ";
  const after = text[at + mark.length] ?? " ";
  const inWord = mark[0] === "_" && /\w/.test(before) && /\w/.test(after);
  const last = openers.findLastIndex((opener) => opener.mark === mark);
  if (mark[0] === "~" && mark.length !== 2) return at + mark.length;
  if (!/\s/.test(before) && last >= 0 && !inWord) openers.length = last;
  else if (isLast(text, at + mark.length) && /\s/.test(before)) openers.push({ mark, at });
  else if (openers.length < MOST_OPENERS && mark.length <= 3 && !inWord && opens(before, after))
    openers.push({ mark, at });
  return at + mark.length;
}

function isLast(text: string, end: number): boolean {
  return /^\s?$/.test(text[end] ?? "") && end >= text.trimEnd().length;
}

function opens(before: string, after: string): boolean {
  return !/\s/.test(after) && (/[\s\p{P}]/u.test(before) || !/\p{P}/u.test(after));
}

function withClosers(text: string, openers: Opener[]): string {
  let body = text.trimEnd();
  const near = openers.filter((opener) => opener.at > text.length - FAR);
  for (const { mark, at } of near.reverse()) {
    body = body.length <= at + mark.length ? body.slice(0, at).trimEnd() : body + mark;
  }
  return body;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
