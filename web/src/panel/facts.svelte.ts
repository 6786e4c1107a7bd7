/** A list of memories that can be put right and forgotten. */

import { SvelteSet } from "svelte/reactivity";
import { call } from "../api/client";
import type { Calls, Fact } from "../api/types";
import { Loaded } from "../lib/loaded.svelte";
import { later } from "../lib/later";
import { t } from "../text/text";

export type FactQuery = Calls["GET /api/memory/facts"]["query"];

/** Forgotten here, though perhaps not yet on the server. */
const hidden = new SvelteSet<string>();

const PAGE = 50;

export class Facts {
  readonly page: Loaded<Fact[]>;
  hasMore = $state(false);

  constructor(private query: () => FactQuery) {
    this.page = new Loaded(() => this.#read({}));
  }

  get shown(): Fact[] {
    return (this.page.value ?? []).filter((each) => !hidden.has(each.id));
  }

  /** The next page. A search has none: it gives the best. */
  more = async (): Promise<void> => {
    const known = this.page.value ?? [];
    const last = known.at(-1);
    if (last) this.page.value = [...known, ...(await this.#read({ before: last.id }))];
  };

  changed(fact: Fact): void {
    this.page.value = this.page.value?.map((each) => (each.id === fact.id ? fact : each));
  }

  added(fact: Fact): void {
    const others = (this.page.value ?? []).filter((each) => each.id !== fact.id);
    this.page.value = [fact, ...others];
  }

  async #read(from: { before?: string }): Promise<Fact[]> {
    const query = { ...this.query(), ...from, limit: PAGE };
    const { facts } = await call("GET /api/memory/facts", { query });
    this.hasMore = facts.length === PAGE && !query.words && !query.about;
    return facts;
  }
}

export function forget(fact: Fact): void {
  hidden.add(fact.id);
  later({
    said: t.panel.memory.forgotten,
    run: () => call("DELETE /api/memory/facts/{fact}", { path: { fact: fact.id } }),
    back: () => hidden.delete(fact.id),
  });
}

export function isForgotten(fact: Fact): boolean {
  return hidden.has(fact.id);
}
