/** Markdown into a list of blocks of safe HTML, so that text appended renders its last block only. */

import type { Token } from "markdown-it";
import { definitions, Outline, type Part, type References } from "./outline";
import { DEEPEST, parser, plainBox } from "./parser";
import { sanitized } from "./sanitize";
import { finished, wholeWords } from "./unfinished";

/** How much is looked at at once, which bounds the work for one block, whatever it holds. */
const WINDOW = 16_000;
const LONGEST_CODE = 256_000;
const MOST_ELEMENTS = 3_500;
const PLAIN_PIECE = 8_000;

export type Block = { key: string; html: string; open: boolean };
export type Options = {
  streaming?: boolean;
  /** Source after this many characters is not rendered. */
  limit?: number;
  /** Time (as `performance.now()`) after which no other block is begun. */
  until?: number;
};

type Entry = Block & { source: string; labels: Set<string> | undefined };

export class Renderer {
  /** How many blocks were rendered, ever. */
  rendered = 0;
  #settled: Entry[] = [];
  #tail: Entry[] = [];
  #stable = "";
  /** What a block that was cut begins with, to begin its next piece with as well. */
  #carried = "";
  #references: References = {};
  /** Blocks of the last time that may be used again. */
  #known = new Map<string, Entry>();

  /** The blocks of `text`, how much of it they show, and whether that is all, or time ran out. */
  update(text: string, options: Options = {}): { blocks: Block[]; shown: number; done: boolean } {
    const { streaming = false, limit = Infinity, until = Infinity } = options;
    const whole = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    const wanted = (streaming ? wholeWords(whole) : whole).slice(0, limit);
    if (!wanted.startsWith(this.#stable)) this.#reset();
    this.#known = new Map(this.#tail.map((entry) => [entry.key, entry]));
    this.#tail = [];
    let shown = this.#stable.length;
    while (shown < wanted.length) {
      shown = this.#step(wanted, { growing: streaming, until });
      if (performance.now() > until) break;
    }
    return { blocks: [...this.#settled, ...this.#tail], shown, done: shown >= wanted.length };
  }

  #reset(): void {
    this.#settled = [];
    this.#stable = this.#carried = "";
    this.#references = {};
  }

  /** Renders the next window; what is not settled by it is kept apart, to be looked at again. */
  #step(text: string, { growing, until }: { growing: boolean; until: number }): number {
    const at = this.#stable.length - this.#carried.length;
    const { source, last } = this.#window(text);
    const streaming = growing && last;
    const outline = new Outline(source, { streaming });
    const { parts } = outline;
    const settled = streaming ? outline.settled() : last ? parts.length : cutAt(outline);
    this.#learn(outline, parts.slice(0, settled));
    for (const [n, part] of parts.entries()) {
      if (n >= settled && !last) break;
      if (n > 0 && n < settled && performance.now() > until)
        return this.#settle(text, at + part.from);
      const open = streaming && n === parts.length - 1;
      const made = this.#render({
        outline,
        part,
        open,
        key: `b${Math.max(at + part.from, this.#stable.length)}`,
      });
      (n < settled ? this.#settled : this.#tail).push(...made);
    }
    const end = at + (parts[settled]?.from ?? source.length);
    const carried = !last && settled === parts.length ? beginning(outline) : "";
    if (settled > 0 || !last) this.#settle(text, end, carried);
    return last ? text.length : end;
  }

  #settle(text: string, end: number, carried = ""): number {
    this.#stable = text.slice(0, end);
    this.#carried = carried;
    return end;
  }

  #window(text: string): { source: string; last: boolean } {
    const cut = this.#cut(text, WINDOW);
    return cut.last || !isCode(cut.source) ? cut : this.#cut(text, LONGEST_CODE);
  }

  #cut(text: string, most: number): { source: string; last: boolean } {
    const at = this.#stable.length;
    if (text.length - at <= most) return { source: this.#carried + text.slice(at), last: true };
    const line = text.lastIndexOf("\n", at + most) + 1;
    const end = line > at ? line : wordEnd(text, at + PLAIN_PIECE);
    return { source: this.#carried + text.slice(at, end), last: false };
  }

  /** Links to what is defined only now appear in the blocks that wait for it. */
  #learn(outline: Outline, parts: Part[]): void {
    const labels = parts.flatMap(definitions).filter((label) => !(label in this.#references));
    if (!labels.length) return;
    for (const label of labels) this.#references[label] ??= outline.references[label]!;
    const waits = (entry: Entry) => labels.some((label) => entry.labels?.has(label));
    this.#settled = this.#settled.map((entry) =>
      waits(entry) ? { ...entry, html: this.#html(entry.source) } : entry,
    );
    for (const [key, entry] of this.#known) if (waits(entry)) this.#known.delete(key);
  }

  #render(job: { outline: Outline; part: Part; open: boolean; key: string }): Entry[] {
    const { outline, part, open, key } = job;
    const whole = outline.source.slice(part.from, part.to);
    const source = isVerbatim(part) ? whole : withoutBlankLines(whole);
    const known = this.#known.get(key);
    if (known?.source === source && known.open === open) return [known];
    if (part.tokens[0]!.type === "reference_definition") return [];
    if (isTooMuch(part, source)) return plainPieces(source, key, open);
    const html = this.#html(open ? finished(source, part.tokens) : source, open);
    return [{ key, source, open, html, labels: labelsIn(source) }];
  }

  #html(source: string, streaming = false): string {
    this.rendered++;
    const env = { streaming, references: { ...this.#references } };
    const tokens = parser.parse(source, env);
    const inline = tokens.reduce((sum, token) => sum + elements(token.children ?? []), 0);
    if (inline + elements(tokens) > MOST_ELEMENTS) return sanitized(plainBox(source));
    return sanitized(parser.renderer.render(tokens, parser.options, env));
  }
}

/** Everything at once, for text that is complete and not long. */
export function render(text: string): Block[] {
  return new Renderer().update(text).blocks;
}

function isCode(source: string): boolean {
  return /^\s*(?:```|~~~)/.test(source);
}

function isVerbatim({ tokens }: Part): boolean {
  return tokens[0]!.type === "fence" || tokens[0]!.type === "code_block";
}

function withoutBlankLines(source: string): string {
  const end = source.indexOf("\n", source.trimEnd().length);
  return end < 0 ? source : source.slice(0, end);
}

function elements(tokens: Token[]): number {
  return tokens.reduce((sum, { nesting, tag }) => sum + (nesting >= 0 && tag ? 1 : 0), 0);
}

function isTooMuch(part: Part, source: string): boolean {
  if (elements(part.tokens) > MOST_ELEMENTS) return true;
  if (part.tokens[0]!.type === "fence") return false;
  return source.length > WINDOW || part.tokens.some((token) => token.level >= DEEPEST - 1);
}

/** How many parts of a window to take that has more text after it: all but the last, or all. */
function cutAt({ parts }: Outline): number {
  return Math.max(Math.min(1, parts.length), parts.length - 1);
}

function beginning({ parts, source }: Outline): string {
  const part = parts.at(-1);
  if (!part) return "";
  const lines = source.slice(part.from, part.to).split("\n", 2);
  if (part.tokens[0]!.type === "fence") return `${lines[0]}\n`;
  return part.tokens[0]!.type === "table_open" ? `${lines.join("\n")}\n` : "";
}

function wordEnd(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(" ", end);
  if (space > end - 100) return space + 1;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

function plainPieces(source: string, key: string, open: boolean): Entry[] {
  const pieces: Entry[] = [];
  for (let at = 0; at < source.length;) {
    const end = wordEnd(source, at + PLAIN_PIECE);
    const piece = source.slice(at, end);
    const html = sanitized(plainBox(piece));
    pieces.push({ key: at ? `${key}-${at}` : key, source: piece, open, html, labels: undefined });
    at = end;
  }
  return pieces;
}

/** What stands in brackets, which a definition anywhere in the text may turn into a link. */
function labelsIn(source: string): Set<string> | undefined {
  if (!source.includes("[")) return undefined;
  const found = source.matchAll(/\[([^[\]]{1,300})\]/g);
  const labels = new Set([...found].map((match) => parser.utils.normalizeReference(match[1]!)));
  return labels.size ? labels : undefined;
}
