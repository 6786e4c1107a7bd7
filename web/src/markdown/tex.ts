/** Where mathematics begins and ends: `$$..$$`, `\[..\]`, `\(..\)`, and `$..$` unless it is money. */

import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";

// Looked for from every opening mark, so a long one would make many of them slow.
const LONGEST = 1000;
const LONGEST_INLINE = 400;

export type TexEnv = { streaming?: boolean };

export function tex(md: MarkdownIt): void {
  md.inline.ruler.before("escape", "tex", (state, silent) => inline(state, silent));
  md.block.ruler.before("fence", "tex_block", block, {
    alt: ["paragraph", "reference", "blockquote", "list"],
  });
  const { escapeHtml } = md.utils;
  md.renderer.rules.tex = (tokens, at) => {
    const token = tokens[at]!;
    const kind = token.markup === "display" ? "tex display" : "tex";
    return `<code class="${kind}">${escapeHtml(token.content)}</code>`;
  };
  md.renderer.rules.tex_block = (tokens, at) =>
    `<div class="scroll"><code class="tex display">${escapeHtml(tokens[at]!.content)}</code></div>\n`;
}

function inline(state: StateInline, silent: boolean): boolean {
  const found = formula(state.src, state.pos, state.posMax);
  if (!found) return false;
  if (!silent) {
    const token = state.push("tex", "code", 0);
    token.content = found.content;
    token.markup = found.display ? "display" : "";
  }
  state.pos = found.end;
  return true;
}

type Formula = { content: string; display: boolean; end: number };

function formula(source: string, at: number, most: number): Formula | undefined {
  const two = source.slice(at, at + 2);
  if (two === "\\(") return between(source, at, "\\)", most, false);
  if (two === "\\[") return between(source, at, "\\]", most, true);
  if (two === "$$") return between(source, at, "$$", most, true);
  return two[0] === "$" ? dollars(source, at, most) : undefined;
}

function between(
  source: string,
  at: number,
  close: string,
  most: number,
  display: boolean,
): Formula | undefined {
  const near = source.slice(at + 2, Math.min(most, at + LONGEST));
  const length = near.indexOf(close);
  const content = near.slice(0, length).trim();
  if (length < 0 || !content) return undefined;
  return { content, display, end: at + 2 + length + 2 };
}

function dollars(source: string, at: number, most: number): Formula | undefined {
  if (/[\w$\\]/.test(source[at - 1] ?? "")) return undefined;
  const near = source.slice(at + 1, Math.min(most, at + LONGEST_INLINE));
  const content = /^(?:[^$\\\n]|\\[^\n])+(?=\$)/.exec(near)?.[0];
  if (content === undefined) return undefined;
  const next = near[content.length + 1] ?? "";
  if (/^\s|\s$/.test(content) || /[\w$]/.test(next) || isMoney(content)) return undefined;
  return { content, display: false, end: at + content.length + 2 };
}

/** "$5 and 6$", "$100k for Bob's$": words with spaces around, and no sign of TeX. */
function isMoney(content: string): boolean {
  return (
    !/[\\^_{}=<>]/.test(content) &&
    /(?:^|\s)[A-Za-z]{2,}(?:\s|$)|\s\S+\s\S+\s[A-Za-z]/.test(content)
  );
}

const MARKS: Record<string, string> = { $$: "$$", "\\[": "\\]" };

function block(state: StateBlock, start: number, end: number, silent: boolean): boolean {
  if (state.sCount[start]! - state.blkIndent >= 4) return false;
  const open = lineOf(state, start).slice(0, 2);
  const close = MARKS[open];
  if (!close) return false;
  const last = lastLine(state, { start, end, close });
  if (!last) return false;
  if (silent) return true;
  const token = state.push("tex_block", "code", 0);
  token.map = [start, last.end];
  token.info = last.open ? "open" : "";
  token.content = contentOf(state, start, last.end, close);
  state.line = last.end;
  return true;
}

/** Formulas hold no blank lines, so one that is never closed spoils no more than its paragraph. */
function lastLine(
  state: StateBlock,
  { start, end, close }: { start: number; end: number; close: string },
): { end: number; open: boolean } | undefined {
  for (let line = start; line < end && line < start + 200; line++) {
    if (state.isEmpty(line) || state.sCount[line]! < state.blkIndent) return undefined;
    const text = lineOf(state, line);
    const rest = line === start ? text.slice(2) : text;
    if (rest.trimEnd().endsWith(close)) return { end: line + 1, open: false };
    if (rest.includes(close)) return undefined;
  }
  // What is still being written counts as a formula as long as it can become one.
  const growing = (state.env as TexEnv).streaming && state.level === 0 && end === state.lineMax;
  return growing ? { end, open: true } : undefined;
}

function contentOf(state: StateBlock, start: number, end: number, close: string): string {
  const whole = state.getLines(start, end, state.sCount[start]!, false).trim().slice(2);
  return (whole.endsWith(close) ? whole.slice(0, -2) : whole).trim();
}

function lineOf(state: StateBlock, line: number): string {
  return state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]);
}
