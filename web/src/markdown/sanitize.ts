/** The one gate that HTML made of a model's words passes before it gets into the page. */

import createDOMPurify, { type Config } from "dompurify";
import { hasControls, markControls } from "./controls";

export const TAGS = [
  "a", "bdi", "blockquote", "br", "button", "code", "del", "div", "em", "h3", "h4", "h5", "h6", "hr",
  "img", "input", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead",
  "tr", "ul",
]; // prettier-ignore
export const ATTRIBUTES = [
  "alt", "aria-label", "checked", "class", "data-lang", "dir", "disabled", "href", "loading", "rel",
  "role", "src", "start", "tabindex", "target", "title", "type",
]; // prettier-ignore
export const CLASSES = [
  "bar", "centre", "code", "control", "copy", "display", "elsewhere", "lang", "left", "plain", "right",
  "scroll", "task", "tex",
]; // prettier-ignore

const CONFIG: Config = {
  ALLOWED_TAGS: [...TAGS, "#text"],
  ALLOWED_ATTR: ATTRIBUTES,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|blob:|\/api\/)/i,
  // All but the two that are addresses.
  ADD_URI_SAFE_ATTR: ATTRIBUTES.filter((name) => name !== "href" && name !== "src"),
};

const VALUES: Record<string, RegExp> = {
  type: /^(?:button|checkbox)$/,
  role: /^group$/,
  tabindex: /^0$/,
  dir: /^(?:rtl|ltr)$/,
  "data-lang": /^[\w+#.-]{1,32}$/,
};

// An instance of our own: the diagram library uses the shared one, with other rules.
const purifier = createDOMPurify(window);
purifier.addHook("uponSanitizeAttribute", (_element, attribute) => {
  const { attrName: name, attrValue: value } = attribute;
  if (name === "class") attribute.attrValue = ourClasses(value);
  const allowed = VALUES[name];
  if (allowed && !allowed.test(value)) attribute.keepAttr = false;
});
purifier.addHook("afterSanitizeAttributes", (element) => {
  if (element.nodeName === "A") leavesOnly(element);
  if (element.nodeName === "IMG" && !isOurs(element.getAttribute("src") ?? "")) element.remove();
  if (element.nodeName === "INPUT") element.setAttribute("disabled", "");
});

export function sanitized(html: string): string {
  if (!hasControls(html)) return purifier.sanitize(html, CONFIG);
  const fragment = purifier.sanitize(html, { ...CONFIG, RETURN_DOM_FRAGMENT: true });
  markControls(fragment);
  // In the document of the page, pictures would be loaded already here.
  const box = fragment.ownerDocument.createElement("div");
  box.append(fragment);
  return box.innerHTML;
}

/** A link that a page may follow: it leaves, and neither page learns of the other. */
export function isLink(address: string): boolean {
  return /^(?:https?:\/\/[^/]|mailto:.)/i.test(address);
}

/** A picture that can be shown: one of another host would learn who reads the page, and when. */
export function isOurs(address: string): boolean {
  return /^\/api\/(?:files|sessions)\/[^\\]+$/.test(address) || /^blob:/i.test(address);
}

function leavesOnly(link: Element): void {
  if (!isLink(link.getAttribute("href") ?? "")) return link.removeAttribute("href");
  link.setAttribute("rel", "noopener noreferrer nofollow");
  link.setAttribute("target", "_blank");
}

function ourClasses(value: string): string {
  return value
    .split(/\s+/)
    .filter((name) => CLASSES.includes(name))
    .join(" ");
}
