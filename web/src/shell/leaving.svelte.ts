/** Signing out: what this browser keeps of someone goes with them. */

import { writing } from "../composer/writing.svelte";
import { attempt } from "../lib/attempt";
import { draftsOf, forgetDrafts } from "../lib/drafts";
import { sidebar } from "../sidebar/sidebar.svelte";
import { me } from "../state/me.svelte";
import { outbox } from "../state/outgoing.svelte";

/** What was written here and is nowhere else. */
export type Unsent = { messages: number; drafts: number };

class Leaving {
  /** What would be lost, if someone has to be asked first. */
  asks: Unsent | null = $state.raw(null);

  /** At once, unless something would be lost by it. */
  begin(): void {
    const unsent = this.#unsent();
    if (unsent.messages || unsent.drafts) this.asks = unsent;
    else void attempt(this.leave());
  }

  stay(): void {
    this.asks = null;
  }

  /** All that this page knows goes too, as it begins anew. */
  async leave(): Promise<void> {
    const user = me.who?.user.id ?? "";
    await me.signOut();
    this.asks = null;
    writing.clear();
    forgetDrafts(user);
    outbox.forget(user);
    sidebar.forget();
    location.assign("/");
  }

  #unsent(): Unsent {
    writing.flush();
    return { messages: outbox.messages.size, drafts: draftsOf(me.who?.user.id ?? "").length };
  }
}

export const leaving = new Leaving();
