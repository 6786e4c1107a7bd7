/** An answer as a screen reader tells it, while it comes. */

const PAUSE = 5000;
const MOST = 400;

/** Picks what a screen reader is told of a text that grows: sentences, and not too often. */
export class Reader {
  #told = 0;
  #at = 0;

  next(text: string, now: number): string | null {
    if (now - this.#at < PAUSE) return null;
    const end = lastSentence(text.slice(this.#told));
    if (!end) return null;
    return this.#tell(text, this.#told + end, now);
  }

  /** The rest, when all is said. */
  rest(text: string, now: number): string | null {
    return this.#told < text.length ? this.#tell(text, text.length, now) : null;
  }

  #tell(text: string, end: number, now: number): string | null {
    const said = plain(text.slice(this.#told, end));
    this.#told = end;
    this.#at = now;
    return said ? (said.length > MOST ? `${said.slice(0, MOST)}…` : said) : null;
  }
}

function lastSentence(text: string): number {
  let end = 0;
  for (const found of text.matchAll(/[.!?。！？:](?=\s)|\n/g)) end = found.index + 1;
  return end;
}

/** Without the signs of Markdown, and code only by name. */
function plain(text: string): string {
  return text
    .replace(/```[\s\S]*?(```|$)/g, " ")
    .replace(/[*_`#>|]+/g, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}
