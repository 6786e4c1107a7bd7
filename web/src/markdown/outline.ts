/** The top-level blocks of a Markdown source, and where one can cut it. */

import type { Token } from "markdown-it";
import { parser } from "./parser";
import type { TexEnv } from "./tex";

export type References = Record<string, { title: string; href: string }>;
export type Part = { from: number; to: number; tokens: Token[] };

type Env = TexEnv & { references: References };

export class Outline {
  readonly parts: Part[] = [];
  readonly references: References;

  constructor(
    readonly source: string,
    { streaming }: { streaming: boolean },
  ) {
    const env: Env = { streaming, references: {} };
    const tokens: Token[] = [];
    parser.block.parse(source, parser, env, tokens);
    this.references = env.references;
    const starts = lineStarts(source);
    for (const token of tokens) {
      if (token.level === 0 && token.nesting >= 0) this.#begin(starts[token.map![0]]!);
      this.parts.at(-1)!.tokens.push(token);
    }
  }

  #begin(from: number): void {
    const last = this.parts.at(-1);
    if (last) last.to = from;
    this.parts.push({ from, to: this.source.length, tokens: [] });
  }

  /** The number of parts at the front that no text appended can change any more: those before the
   * last one that begins in a line which does not grow, and surely begins there. */
  settled(): number {
    const growing = this.source.lastIndexOf("\n") + 1;
    const begins = (part: Part) => part.from < growing && !isOpenFormula(part, growing);
    return Math.max(0, this.parts.findLastIndex(begins));
  }
}

/** A formula without an end may turn out to be a line of the paragraph before it. */
function isOpenFormula({ tokens, to }: Part, growing: number): boolean {
  return tokens[0]!.type === "tex_block" && (tokens[0]!.info === "open" || to > growing);
}

/** The labels that a part defines for links elsewhere. */
export function definitions(part: Part): string[] {
  return part.tokens
    .filter((token) => token.type === "reference_definition")
    .map((token) => String(token.meta?.label));
}

function lineStarts(source: string): number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at >= 0; at = source.indexOf("\n", at + 1))
    starts.push(at + 1);
  return starts;
}
