/** What a list shows no longer, while its removal can still be undone. */

import { SvelteSet } from "svelte/reactivity";
import { later } from "../lib/later";
import type { Loaded } from "../lib/loaded.svelte";

export class Removals {
  #gone = new SvelteSet<string>();

  constructor(private listing: Loaded<unknown>) {}

  has(id: string): boolean {
    return this.#gone.has(id);
  }

  /** `run` removes it from the server, and the list is read anew. */
  add(id: string, said: string, run: () => Promise<unknown>): void {
    const back = (): boolean => this.#gone.delete(id);
    this.#gone.add(id);
    later({
      said,
      run: async () => {
        await run();
        await this.listing.load();
        back(); // the next one may have its name
      },
      back,
    });
  }
}
