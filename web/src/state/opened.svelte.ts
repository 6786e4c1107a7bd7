/** The session that is shown. A few that were shown before are kept, to be there at once. */

import { OpenSession } from "./session.svelte";

const KEPT = 5;

class Opened {
  session: OpenSession | null = $state.raw(null);
  #kept: OpenSession[] = [];

  show(id: string | null): void {
    if (this.session?.id === (id ?? undefined)) return;
    this.session?.leave();
    this.session = id ? this.#take(id) : null;
    this.session?.follow();
  }

  /** Try once more to open what was refused. */
  again(): void {
    const id = this.session?.id ?? null;
    this.show(null);
    this.show(id);
  }

  /** Whoever signs in next has not seen it. */
  forget(): void {
    this.show(null);
    this.#kept = [];
  }

  #take(id: string): OpenSession {
    const kept = this.#kept.find((each) => each.id === id && each.standing === "live");
    const session = kept ?? new OpenSession(id);
    this.#kept = [session, ...this.#kept.filter((each) => each.id !== id)].slice(0, KEPT);
    return session;
  }
}

export const opened = new Opened();
