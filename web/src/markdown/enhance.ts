/** What a finished block gets after it is shown: colours, formulas, diagrams. */

import { t } from "../text/text";
import { colour } from "./highlight";

const LONGEST_DIAGRAM = 8000;

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
  const { formula } = await import("./math");
  for (const element of elements) {
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
  const drawAll = () => boxes.forEach((box) => void showDiagram(box));
  const observer = new MutationObserver(drawAll);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  drawAll();
  return () => observer.disconnect();
}

async function showDiagram(box: HTMLElement): Promise<void> {
  const source = codeOf(box).textContent ?? "";
  if (source.length > LONGEST_DIAGRAM) return explain(box, t.markdown.diagramTooLarge);
  try {
    const { draw } = await import("./diagram");
    const picture = await draw(source);
    if (codeOf(box).textContent !== source) return;
    const image = new Image(picture.width, picture.height);
    image.alt = t.markdown.diagram;
    image.src = picture.address;
    place(box, "diagram", image);
    box.classList.add("drawn");
    if (!box.querySelector("button.source")) box.querySelector(".bar")?.append(sourceButton());
  } catch (problem) {
    explain(box, t.markdown.diagramFailed);
    console.info("A diagram was not drawn:", problem);
  }
}

function explain(box: HTMLElement, words: string): void {
  place(box, "note", document.createTextNode(words));
}

function place(box: HTMLElement, kind: string, content: Node): void {
  const known = box.querySelector(`.${kind}`);
  const element = known ?? document.createElement("div");
  element.className = kind;
  element.replaceChildren(content);
  if (!known) box.querySelector("pre")?.before(element);
}

function sourceButton(): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "source";
  button.textContent = t.markdown.diagramSource;
  button.setAttribute("aria-pressed", "false");
  return button;
}
