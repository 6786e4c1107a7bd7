/** Messages on their way to the server: shown as such until it has confirmed them. */

import { SvelteMap } from "svelte/reactivity";
import { asProblem, call, type Problem } from "../api/client";
import type { Attachment, NewMessage } from "../api/types";
import { newId } from "./ids";
import { opened } from "./opened.svelte";
import { router } from "./router.svelte";
import { sessions } from "./sessions.svelte";

export type Wanted = {
  text: string;
  files: Attachment[];
  steer?: boolean;
  effort?: NonNullable<NewMessage["effort"]>;
};

/** What a session is opened with, if this is its first message. */
export type Opening = { model: string | null; toolset: string | null; project: string | null };

export class Outgoing {
  problem: Problem | null = $state.raw(null);
  readonly id = newId("trn");
  readonly at = Date.now();

  constructor(
    readonly session: string,
    readonly wanted: Wanted,
    readonly opening: (Opening & { previous: string | null }) | null,
  ) {}
}

class Outbox {
  readonly messages = new SvelteMap<string, Outgoing>();

  constructor() {
    addEventListener("online", () => {
      for (const each of this.messages.values()) if (each.problem?.isOffline) void this.retry(each);
    });
  }

  of(session: string): Outgoing[] {
    return [...this.messages.values()].filter((each) => each.session === session);
  }

  /** Say something in a session, or in a new one that takes the place of `previous` on the screen. */
  async send(
    wanted: Wanted,
    session: string | null,
    opening: Opening,
    previous: string | null,
  ): Promise<void> {
    const place = session ?? newId("ses");
    const outgoing = new Outgoing(place, wanted, session ? null : { ...opening, previous });
    this.messages.set(outgoing.id, outgoing);
    await this.retry(outgoing);
  }

  /** The ids are ours: what has arrived already is not said twice. */
  async retry(outgoing: Outgoing): Promise<void> {
    outgoing.problem = null;
    try {
      await this.#open(outgoing);
      const turn = await call("POST /api/sessions/{session}/turns", {
        path: { session: outgoing.session },
        body: { id: outgoing.id, ...outgoing.wanted },
      });
      if (opened.session?.id === outgoing.session) opened.session.took(turn);
      this.messages.delete(outgoing.id);
    } catch (error) {
      outgoing.problem = asProblem(error);
    }
  }

  /** Take it back: it has not been said. */
  drop(outgoing: Outgoing): void {
    this.messages.delete(outgoing.id);
  }

  async #open(outgoing: Outgoing): Promise<void> {
    if (!outgoing.opening || sessions.get(outgoing.session)) return;
    const body = { id: outgoing.session, ...outgoing.opening };
    sessions.took(await call("POST /api/sessions", { body }));
    if (router.place.page === "chat" && router.session === null) router.open(outgoing.session);
  }
}

export const outbox = new Outbox();
