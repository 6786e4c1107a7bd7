/** The buttons within rendered text; one listener serves them all. */

import { copy } from "../lib/clipboard";
import { t } from "../text/text";
import { codeOf, showDiagram } from "./enhance";

const SHOWN_MS = 2000;

export function onClick(event: MouseEvent): void {
  const button = event.target instanceof Element ? event.target.closest("button") : null;
  const box = button?.closest(".code");
  if (!button || !box) return;
  if (button.classList.contains("copy")) void copied(button, codeOf(box).textContent ?? "");
  if (button.classList.contains("draw")) void showDiagram(box);
  if (button.classList.contains("source")) {
    const shown = box.classList.toggle("with-source");
    button.setAttribute("aria-pressed", String(shown));
  }
}

async function copied(button: Element, text: string): Promise<void> {
  if (!(await copy(text))) return;
  button.textContent = t.common.copied;
  setTimeout(() => (button.textContent = t.common.copy), SHOWN_MS);
}
