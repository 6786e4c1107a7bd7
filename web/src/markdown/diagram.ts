/** Diagrams by mermaid, as pictures: a picture's styles and scripts can't reach the page. */

import mermaid from "mermaid";
import { onStage, withStyles } from "./stage";

const LONGEST = 50_000;
const MOST_EDGES = 500;
const MOST_KEPT = 40;

export type Picture = { address: string; width: number; height: number };

const kept = new Map<string, Picture>();
let count = 0;
let queue: Promise<unknown> = Promise.resolve();

/** The picture of a diagram in the colours of the page; fails if the source is not one. */
export function draw(source: string): Promise<Picture> {
  const colours = pageColours();
  const key = `${JSON.stringify(colours)}${source}`;
  const known = kept.get(key);
  if (known) return Promise.resolve(known);
  // The library has one state for all, so diagrams are drawn one after the other.
  const drawing = queue.then(() => drawNow(source, colours));
  queue = drawing.catch(() => undefined);
  return drawing.then((picture) => {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
    kept.set(key, picture);
    return picture;
  });
}

async function drawNow(source: string, colours: Colours): Promise<Picture> {
  configure(colours);
  const { svg } = await onStage((stage) => mermaid.render(`diagram-${++count}`, source, stage));
  return pictureOf(svg);
}

function pictureOf(svg: string): Picture {
  const root = parsed(svg);
  const [, , width = 0, height = 0] = (root.getAttribute("viewBox") ?? "")
    .split(/[\s,]+/)
    .map(Number);
  if (!(width > 0 && height > 0)) throw new Error("The diagram is empty.");
  root.setAttribute("width", String(width));
  root.setAttribute("height", String(height));
  const text = withStyles(new XMLSerializer().serializeToString(root));
  return { address: `data:image/svg+xml,${encodeURIComponent(text)}`, width, height };
}

/** As HTML first: what the library returns is not always well-formed XML. */
function parsed(svg: string): Element {
  const found = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (!found) throw new Error("There is no diagram.");
  return found;
}

type Colours = {
  ground: string;
  panel: string;
  line: string;
  text: string;
  accent: string;
  dark: boolean;
};

function pageColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ground: token("ground"),
    panel: token("panel"),
    line: token("faint"),
    text: token("text"),
    accent: token("accent"),
    dark: style.colorScheme.includes("dark"),
  };
}

function configure({ ground, panel, line, text, accent, dark }: Colours): void {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    maxTextSize: LONGEST,
    maxEdges: MOST_EDGES,
    theme: "base",
    fontFamily: "system-ui, sans-serif",
    themeVariables: {
      darkMode: dark,
      background: ground,
      primaryColor: panel,
      primaryTextColor: text,
      primaryBorderColor: line,
      lineColor: line,
      textColor: text,
      secondaryColor: ground,
      tertiaryColor: ground,
      noteBkgColor: panel,
      noteTextColor: text,
      noteBorderColor: accent,
      fontSize: "14px",
    },
  });
}
