/** markdown-it, set up for text that a model wrote: no HTML, our own elements around code. */

import MarkdownIt, { type StateBlock, type StateCore, type Token } from "markdown-it";
import { t } from "../text/text";
import { directionOf, hasRightToLeft } from "./direction";
import { isLink, isOurs } from "./sanitize";
import { tex } from "./tex";

export const DEEPEST = 40;
const MOST_CELLS = 100;

const parser = new MarkdownIt({ html: false, linkify: true, maxNesting: DEEPEST });
// Names of files look like hosts (main.py, README.md), so only whole addresses become links.
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
parser.validateLink = (address) => isLink(address) || isOurs(address);
parser.use(tex);
parser.block.ruler.before("table", "wide", wide);
parser.core.ruler.push("roost", (state) => {
  state.tokens.forEach((_, at) => dress(state, at));
  if (hasRightToLeft(state.src)) state.tokens.forEach((_, at) => direct(state.tokens, at));
});

const { rules } = parser.renderer;
const { escapeHtml } = parser.utils;

rules.fence = (tokens, at) => codeBox(tokens[at]!.content, tokens[at]!.info);
rules.code_block = (tokens, at) => codeBox(tokens[at]!.content, "");
rules.table_open = () =>
  `<div class="scroll" tabindex="0" role="group" aria-label="${t.markdown.table}"><table>\n`;
rules.table_close = () => "</table></div>\n";
rules.image = (tokens, at, options, env, renderer) => {
  const token = tokens[at]!;
  const address = String(token.attrGet("src") ?? "");
  const alt = escapeHtml(renderer.renderInlineAsText(token.children ?? [], options, env));
  const source = escapeHtml(address);
  if (isOurs(address)) return `<img src="${source}" alt="${alt}" loading="lazy">`;
  return `<a href="${source}">${t.markdown.image}: ${alt || source}</a>`;
};
rules.link_close = (tokens, at) => `</a>${elsewhere(tokens, at)}`;
rules.task = (tokens, at) => {
  const done = tokens[at]!.markup !== " ";
  const label = done ? t.markdown.done : t.markdown.notDone;
  return `<input type="checkbox" disabled${done ? " checked" : ""} aria-label="${label}"> `;
};

export { parser };

function codeBox(content: string, info: string): string {
  const language = /^[\w+#.-]{1,32}/.exec(info.trim())?.[0] ?? "";
  const code = escapeHtml(content.replace(/\n$/, ""));
  return (
    `<div class="code"${language && ` data-lang="${language.toLowerCase()}"`}>` +
    `<div class="bar"><span class="lang">${language}</span>` +
    `<button type="button" class="copy">${t.common.copy}</button></div>` +
    `<pre tabindex="0" role="group" dir="ltr" aria-label="${t.markdown.code(language)}">` +
    `<code>${code}</code></pre></div>\n`
  );
}

export function plainBox(content: string): string {
  return `<p class="plain" dir="${directionOf(content)}">${escapeHtml(content)}</p>\n`;
}

/** A line of very many cells is text: a table of it would have cells for every short line below. */
function wide(state: StateBlock, line: number, _end: number, silent: boolean): boolean {
  const text = state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]);
  if (silent || text.length < MOST_CELLS || text.split("|").length <= MOST_CELLS) return false;
  state.push("paragraph_open", "p", 1).map = [line, line + 1];
  const inline = state.push("inline", "", 0);
  [inline.content, inline.map, inline.children] = [text.trim(), [line, line + 1], []];
  state.push("paragraph_close", "p", -1);
  state.line = line + 1;
  return true;
}

const DIRECTED = /^(?:paragraph|heading|bullet_list|ordered_list|list_item|blockquote|t[hd])_open$/;

/** The way that the text of an element runs. `dir="auto"` would say it too, but a browser looks
 * through the whole element for every node that is added to it. */
function direct(tokens: Token[], at: number): void {
  const token = tokens[at]!;
  if (token.nesting !== 1 || !DIRECTED.test(token.type)) return;
  const inline = tokens.slice(at, at + 8).find((one) => one.type === "inline");
  token.attrSet("dir", directionOf(inline?.content ?? ""));
}

function dress(state: StateCore, at: number): void {
  const token = state.tokens[at]!;
  if (token.type.startsWith("heading_")) token.tag = `h${Math.min(6, Number(token.tag[1]) + 2)}`;
  if (token.type === "th_open" || token.type === "td_open") align(token);
  if (token.type === "list_item_open") task(state, at);
}

/** A class instead of a style: the policy of the page allows no inline styles. */
function align(token: Token): void {
  const found = /text-align:(left|center|right)/.exec(String(token.attrGet("style") ?? ""))?.[1];
  token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
  if (found) token.attrSet("class", found === "center" ? "centre" : found);
}

function task(state: StateCore, at: number): void {
  const inline = state.tokens[at + 2];
  const first = inline?.type === "inline" ? inline.children?.[0] : undefined;
  const found = first?.type === "text" ? /^\[([ xX])\]\s+/.exec(first.content) : null;
  if (!first || !found) return;
  first.content = first.content.slice(found[0].length);
  const box = new state.Token("task", "input", 0);
  box.markup = found[1]!;
  inline!.children!.unshift(box);
  state.tokens[at]!.attrSet("class", "task");
}

/** Names the host of a link whose words look like an address of another one. */
function elsewhere(tokens: Token[], close: number): string {
  let open = close;
  while (open > 0 && tokens[open]!.type !== "link_open") open--;
  const words = tokens
    .slice(open, close)
    .map((token) => token.content)
    .join("");
  const claimed = /^\s*(?:https?:\/\/)?([\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+)(?:[/:?#\s]|$)/iu.exec(
    words,
  )?.[1];
  const actual = hostOf(String(tokens[open]!.attrGet("href") ?? ""));
  if (!claimed || !actual || same(claimed, actual)) return "";
  return ` <span class="elsewhere">(${escapeHtml(t.markdown.leadsTo(actual))})</span>`;
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : "";
}

function same(claimed: string, actual: string): boolean {
  const bare = (name: string) => name.toLowerCase().replace(/^www\./, "");
  // A file (`main.py`) is no host, even though it looks like one.
  if (/\.(?:py|js|ts|md|rs|go|sh|c|h|json|toml|yaml|yml|txt|html|css|svelte)$/i.test(claimed))
    return true;
  return bare(hostOf(`http://${claimed}`) || claimed) === bare(actual);
}
