/** Characters that reorder text or hide in it, made harmless or visible. */

const OVERRIDES = "\\u202A-\\u202E";
const ISOLATES = "\\u2066-\\u2069";
// Joiners (U+200C, U+200D) shape many scripts and emoji, so they stay as they are.
const HIDDEN =
  "\\u00AD\\u061C\\u180E\\u200B\\u200E\\u200F\\u2060-\\u2064\\u206A-\\u206F\\uFEFF\\uFFF9-\\uFFFB";
const TAGS = "\\u{E0000}-\\u{E007F}";

const IN_PROSE = new RegExp(`[${OVERRIDES}]`, "u");
const IN_CODE = new RegExp(`[${OVERRIDES}${ISOLATES}${HIDDEN}${TAGS}]`, "u");

const MOST = 500;

export function hasControls(text: string): boolean {
  return IN_CODE.test(text);
}

/** Puts each such character below `root` into an element of its own, which ends its effect. In code
 * and links, where one could be deceived, the element also shows which character it is. */
export function markControls(root: Node): void {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  const found = texts.filter((text) => hasControls(text.data));
  const all = new RegExp(IN_CODE.source, "gu");
  const count = found.reduce((sum, text) => sum + text.data.match(all)!.length, 0);
  for (const text of found) {
    if (count <= MOST) markIn(text, root);
    // So many have no good use, and an element for each would be slow.
    else text.data = text.data.replace(all, "\uFFFD");
  }
}

function markIn(text: Text, root: Node): void {
  const exact = isExact(text, root);
  const pattern = new RegExp((exact ? IN_CODE : IN_PROSE).source, "gu");
  const parts: Node[] = [];
  let at = 0;
  for (const found of text.data.matchAll(pattern)) {
    if (found.index > at) parts.push(document.createTextNode(text.data.slice(at, found.index)));
    parts.push(mark(found[0], exact));
    at = found.index + found[0].length;
  }
  if (!parts.length) return;
  parts.push(document.createTextNode(text.data.slice(at)));
  text.replaceWith(...parts);
}

function isExact(text: Text, root: Node): boolean {
  if (text.parentElement?.closest("code, a, pre")) return true;
  return root instanceof Element && root.closest("code, a, pre") !== null;
}

function mark(character: string, exact: boolean): Element {
  const element = document.createElement("bdi");
  element.className = "control";
  if (exact) element.dataset.char = nameOf(character);
  element.textContent = character;
  return element;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
