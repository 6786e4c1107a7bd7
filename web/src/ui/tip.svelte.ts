/** One tooltip for the whole page: it follows the pointer and the focus of the keyboard. */

import type { Attachment } from "svelte/attachments";

const PATIENCE = 500;

class Tip {
  text = $state("");
  anchor: HTMLElement | null = $state.raw(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  show(anchor: HTMLElement, text: string, patience: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.text = text;
      this.anchor = anchor;
    }, patience);
  }

  hide(): void {
    clearTimeout(this.#timer);
    // An element that is taken away loses the focus while the page changes: state may not, then.
    queueMicrotask(() => {
      this.anchor = null;
    });
  }
}

export const tooltip = new Tip();

/** Shows a text beside an element. It is no name: give the element one as well. */
export function tip(text: string): Attachment<HTMLElement> {
  return (element) => {
    const enter = (event: PointerEvent): void => {
      if (event.pointerType === "mouse") tooltip.show(element, text, PATIENCE);
    };
    const focus = (): void => {
      if (element.matches(":focus-visible")) tooltip.show(element, text, PATIENCE);
    };
    const hide = (): void => {
      tooltip.hide();
    };
    const listening = new AbortController();
    const { signal } = listening;
    element.addEventListener("pointerenter", enter, { signal });
    element.addEventListener("focus", focus, { signal });
    for (const over of ["pointerleave", "pointerdown", "blur", "click"]) {
      element.addEventListener(over, hide, { signal });
    }
    return () => {
      listening.abort();
      if (tooltip.anchor === element) tooltip.hide();
    };
  };
}
