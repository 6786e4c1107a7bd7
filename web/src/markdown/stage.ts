/** Where a drawing library works: out of sight, with its styles in force under a strict policy.
 *
 * The page allows no styles in its markup, neither elements nor attributes, and drawings are full of
 * them: text would be measured in the wrong font. Styles set by script are allowed, so while the
 * library draws, what it sets as markup is set that way. It draws with whatever the page's prototypes
 * have, and takes neither a document of its own (a frame has the page's policy) nor other functions;
 * so these are changed for as long as it draws, which has an end. What the page does meanwhile comes
 * to the same: its own styles are set by script too, and its sanitizer takes styles out. */

const LONGEST_WAIT = 15_000;
const SHEET = "held-sheet";
const HELD = "data-held-style";

export async function onStage<T>(work: (stage: HTMLElement) => Promise<T>): Promise<T> {
  const stage = document.createElement("div");
  stage.className = "diagram-stage";
  stage.setAttribute("aria-hidden", "true");
  document.body.append(stage);
  const restore = [stylesByScript(), sheetsByScript(stage), stylesHeld()];
  const end = deadline(LONGEST_WAIT);
  try {
    return await Promise.race([work(stage), end.passed]);
  } finally {
    end.cancel();
    restore.forEach((undo) => undo());
    stage.remove();
  }
}

function deadline(time: number): { passed: Promise<never>; cancel: () => void } {
  let timer: ReturnType<typeof setTimeout>;
  const passed = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("The diagram took too long."));
    }, time);
  });
  return {
    passed,
    cancel: () => {
      clearTimeout(timer);
    },
  };
}

function stylesByScript(): () => void {
  const original = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name: string, value: string) {
    const styled = this instanceof SVGElement || this instanceof HTMLElement;
    if (name === "style" && styled) this.style.cssText = value;
    else original.call(this, name, value);
  };
  return () => (Element.prototype.setAttribute = original);
}

/** The library also reads its drawing back from text, where styles have to be under another name. */
function stylesHeld(): () => void {
  const original = DOMParser.prototype.parseFromString;
  DOMParser.prototype.parseFromString = function (text, type) {
    return original.call(this, String(text).replace(/ style="/g, ` ${HELD}="`), type);
  };
  return () => (DOMParser.prototype.parseFromString = original);
}

/** The text of a picture, with its styles as they should be. */
export function withStyles(svg: string): string {
  const sheet = new RegExp(`<desc class="${SHEET}">([^<]*)</desc>`);
  return svg.replaceAll(` ${HELD}="`, ' style="').replace(sheet, "<style>$1</style>");
}

function sheetsByScript(stage: HTMLElement): () => void {
  const sheets: CSSStyleSheet[] = [];
  const original = Node.prototype.insertBefore;
  Node.prototype.insertBefore = function <N extends Node>(node: N, before: Node | null): N {
    const isSheet = node instanceof HTMLStyleElement && stage.contains(this);
    if (!isSheet || !(this instanceof Element)) return original.call(this, node, before) as N;
    sheets.push(adopted(node.textContent ?? "", this.id));
    original.call(this, held(node.textContent ?? ""), before);
    return node;
  };
  return () => {
    Node.prototype.insertBefore = original;
    if (!sheets.length) return;
    const others = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
    document.adoptedStyleSheets = others;
  };
}

function held(css: string): Element {
  const element = document.createElementNS("http://www.w3.org/2000/svg", "desc");
  element.setAttribute("class", SHEET);
  element.textContent = css;
  return element;
}

/** A diagram can bring styles along: those for anything but itself are left out. */
function adopted(css: string, id: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  for (let n = sheet.cssRules.length - 1; n >= 0; n--) {
    const rule = sheet.cssRules[n];
    if (!(rule instanceof CSSStyleRule && isBelow(rule.selectorText, id))) sheet.deleteRule(n);
  }
  document.adoptedStyleSheets.push(sheet);
  return sheet;
}

function isBelow(selectors: string, id: string): boolean {
  return selectors.split(",").every((one) => new RegExp(`^\\s*#${id}(?![\\w-])`).test(one));
}
