/** What can be done from the keyboard: the palette, the help and the shortcuts read it from here. */

import { untrack } from "svelte";
import { layout } from "../state/layout.svelte";
import { router } from "../state/router.svelte";

export type Command = {
  id: string;
  label: string;
  /** As "mod+shift+o". */
  keys?: string;
  /** Where it can't be done now, it is not offered. */
  when?: () => boolean;
  run: () => void;
};

class Commands {
  list: Command[] = $state.raw([]);

  /** What is given back takes them away again. */
  add(added: Command[]): () => void {
    // Whoever adds in an effect does not want to be run again by it.
    this.list = [...untrack(() => this.list), ...added];
    return () => {
      this.list = this.list.filter((each) => !added.includes(each));
    };
  }

  get offered(): Command[] {
    return this.list.filter((each) => each.when?.() ?? true);
  }
}

export const commands = new Commands();

/** The session that is left goes on; the router remembers it for the new one to name. */
export function newChat(): void {
  router.open(null);
  layout.closeDrawers();
  focusComposer();
}

export function focusComposer(): void {
  requestAnimationFrame(() => {
    document.querySelector<HTMLElement>(".composer-slot textarea")?.focus();
  });
}
