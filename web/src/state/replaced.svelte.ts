/** What left a history when it was rewritten: its newest page, and those before it as asked for. */

import { call } from "../api/client";
import type { Calls, Messages } from "../api/types";
import { attempt } from "../lib/attempt";
import { Loaded } from "../lib/loaded.svelte";

type Where = Calls["GET /api/sessions/{session}/rewrites/{epoch}/replaced"]["path"];

export class ReplacedMessages {
  readonly page: Loaded<Messages>;
  isReadingOn = $state(false);

  constructor(private where: () => Where) {
    this.page = new Loaded(() => this.#read({}));
  }

  /** Put the page before it in front of what is known. */
  readOn = async (): Promise<void> => {
    const known = this.page.value;
    const first = known?.messages[0];
    if (!known || !first || this.isReadingOn) return;
    this.isReadingOn = true;
    const before = await attempt(this.#read({ before: first.position }));
    this.isReadingOn = false;
    if (before && this.page.value === known) {
      this.page.value = { ...before, messages: [...before.messages, ...known.messages] };
    }
  };

  #read(query: { before?: number }): Promise<Messages> {
    return call("GET /api/sessions/{session}/rewrites/{epoch}/replaced", {
      path: this.where(),
      query,
    });
  }
}
