/** The buttons within rendered text; one listener serves them all. */

import { t } from "../text/text";
import { announce } from "../ui/announce.svelte";
import { codeOf, showDiagram } from "./enhance";

const SHOWN_MS = 2000;

export function onClick(event: MouseEvent): void {
  const button = event.target instanceof Element ? event.target.closest("button") : null;
  const box = button?.closest(".code");
  if (!button || !box) return;
  if (button.classList.contains("copy")) void copy(button, codeOf(box).textContent ?? "");
  if (button.classList.contains("draw")) void showDiagram(box);
  if (button.classList.contains("source")) {
    const shown = box.classList.toggle("with-source");
    button.setAttribute("aria-pressed", String(shown));
  }
}

async function copy(button: Element, text: string): Promise<void> {
  const words = await navigator.clipboard.writeText(text).then(
    () => t.markdown.copied,
    () => t.markdown.notCopied,
  );
  announce(words);
  button.textContent = words;
  setTimeout(() => (button.textContent = t.markdown.copy), SHOWN_MS);
}
