/** What a finished block gets after it is shown: colours, formulas, diagrams. */

import { t } from "../text/text";
import { colour } from "./highlight";

/** Drawing more lines than this takes long enough to be felt, so it waits to be asked for. */
const MOST_LINES = 60;
const LONGEST_LINE = 200;
const MOST_FORMULAS = 300;
const SLICE_MS = 15;

/** Returns what ends it, for when the block goes. */
export function enhance(root: HTMLElement): () => void {
  const diagrams: HTMLElement[] = [];
  for (const box of root.querySelectorAll<HTMLElement>(".code[data-lang]")) {
    if (box.dataset.lang === "mermaid") diagrams.push(box);
    else void colour(codeOf(box), box.dataset.lang ?? "").catch(stayPlain);
  }
  const formulas = [...root.querySelectorAll<HTMLElement>("code.tex")];
  if (formulas.length) void writeFormulas(formulas).catch(stayPlain);
  return diagrams.length ? drawDiagrams(diagrams) : () => undefined;
}

/** A part of the program that did not load leaves the source on the page, which says all of it. */
function stayPlain(problem: unknown): void {
  console.warn("Part of a message stays as it was written:", problem);
}

export function codeOf(box: Element): HTMLElement {
  return box.querySelector<HTMLElement>("pre > code")!;
}

async function writeFormulas(elements: HTMLElement[]): Promise<void> {
  // So many are no text that anyone reads, and would hold up the page.
  if (elements.length > MOST_FORMULAS) return;
  const { formula } = await import("./math");
  let start = performance.now();
  for (const element of elements) {
    if (performance.now() - start > SLICE_MS) {
      await new Promise((resume) => setTimeout(resume));
      start = performance.now();
    }
    const display = element.classList.contains("display");
    const math = formula(element.textContent ?? "", display);
    if (!math || !element.isConnected) continue;
    const box = document.createElement("span");
    box.className = element.className;
    box.append(math);
    element.replaceWith(box);
  }
}

/** Draws them now, and again when the page changes its colours. */
function drawDiagrams(boxes: HTMLElement[]): () => void {
  const drawAll = () => boxes.forEach((box) => (isLarge(box) ? offer(box) : void showDiagram(box)));
  const observer = new MutationObserver(drawAll);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  drawAll();
  return () => observer.disconnect();
}

function isLarge(box: Element): boolean {
  const lines = (codeOf(box).textContent ?? "").split("\n");
  return lines.length > MOST_LINES || lines.some((line) => line.length > LONGEST_LINE);
}

function offer(box: Element): void {
  if (box.classList.contains("drawn")) return void showDiagram(box);
  explain(box, t.markdown.diagramLarge);
  box.querySelector(".note")?.append(" ", button("draw", t.markdown.diagramDraw));
}

export async function showDiagram(box: Element): Promise<void> {
  const source = codeOf(box).textContent ?? "";
  try {
    const { draw } = await import("./diagram");
    const picture = await draw(source);
    if (codeOf(box).textContent !== source) return;
    const image = new Image(picture.width, picture.height);
    image.alt = t.markdown.diagram;
    image.src = picture.address;
    // Smaller than this its words can't be read; the box scrolls instead.
    image.style.minWidth = `${Math.round(picture.width * 0.6)}px`;
    const frame = place(box, "diagram", image);
    frame.tabIndex = 0;
    frame.role = "group";
    frame.ariaLabel = t.markdown.diagram;
    box.classList.add("drawn");
    box.querySelector(".note")?.remove();
    if (!box.querySelector("button.source")) box.querySelector(".bar")?.append(sourceButton());
  } catch (problem) {
    explain(box, t.markdown.diagramFailed);
    console.info("A diagram was not drawn:", problem);
  }
}

function explain(box: Element, words: string): void {
  place(box, "note", document.createTextNode(words));
}

function place(box: Element, kind: string, content: Node): HTMLElement {
  const known = box.querySelector<HTMLElement>(`.${kind}`);
  const element = known ?? document.createElement("div");
  element.className = kind;
  element.replaceChildren(content);
  if (!known) box.querySelector("pre")?.before(element);
  return element;
}

function sourceButton(): HTMLElement {
  const made = button("source", t.markdown.diagramSource);
  made.setAttribute("aria-pressed", "false");
  return made;
}

function button(kind: string, words: string): HTMLElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = kind;
  made.textContent = words;
  return made;
}
