/** What a person has opened or closed, while the page lives. */

import { SvelteMap } from "svelte/reactivity";

const chosen = new SvelteMap<string, boolean>();

export function isOpen(key: string, otherwise = false): boolean {
  return chosen.get(key) ?? otherwise;
}

export function setOpen(key: string, open: boolean): void {
  chosen.set(key, open);
}
