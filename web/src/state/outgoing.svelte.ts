/** Messages on their way to the server: shown as such until it has confirmed them, and kept in the
 * browser until then, so that a closed page loses none. */

import { SvelteMap } from "svelte/reactivity";
import { asProblem, call, Problem } from "../api/client";
import type { Attachment, NewMessage } from "../api/types";
import { parsed } from "../lib/parsed";
import { t } from "../text/text";
import { connection } from "./connection.svelte";
import { newId } from "./ids";
import { me } from "./me.svelte";
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

const PREFIX = "outgoing:";
/** A message that was sent so recently is still wanted after a reload; an older one is asked about. */
const STILL_WANTED = 10 * 60_000;
/** What arrives at once is not said to be on its way. */
const PATIENCE = 400;
/** When to try again what got nowhere though the server is there, as far as anyone knows. */
const AGAIN = 2000;

type Kept = {
  session: string;
  wanted: Wanted;
  opening: (Opening & { previous: string | null }) | null;
  id: string;
  at: number;
};

export class Outgoing {
  problem: Problem | null = $state.raw(null);
  #isLate = $state(false);
  readonly session: string;
  readonly wanted: Wanted;
  readonly opening: Kept["opening"];
  readonly id: string;
  readonly at: number;

  constructor(readonly kept: Kept) {
    this.session = kept.session;
    this.wanted = kept.wanted;
    this.opening = kept.opening;
    this.id = kept.id;
    this.at = kept.at;
    setTimeout(() => {
      this.#isLate = true;
    }, PATIENCE);
  }

  /** For so long that it should be said. */
  get isOnItsWay(): boolean {
    return this.#isLate && !this.problem;
  }

  /** For the server: it goes out by itself once that can be reached. */
  get waits(): boolean {
    return this.problem?.isOffline ?? false;
  }
}

class Outbox {
  readonly messages = new SvelteMap<string, Outgoing>();
  /** The last that was sent in a session: messages arrive in the order they were sent in. */
  #last = new Map<string, Promise<void>>();

  constructor() {
    addEventListener("online", () => {
      this.resume();
    });
  }

  of(session: string): Outgoing[] {
    return [...this.messages.values()].filter((each) => each.session === session);
  }

  /** First messages whose sessions are not there yet. */
  get unopened(): Outgoing[] {
    return [...this.messages.values()].filter(
      (each) => each.opening && !sessions.get(each.session),
    );
  }

  /** Say something in a session, or in a new one that takes the place of `previous` on the screen. */
  async send(
    wanted: Wanted,
    session: string | null,
    opening: Opening,
    previous: string | null,
  ): Promise<void> {
    // What is said before the new session is there belongs into that one too.
    const place = session ?? this.unopened.at(-1)?.session ?? newId("ses");
    const outgoing = new Outgoing({
      session: place,
      wanted,
      opening: session ? null : { ...opening, previous },
      id: newId("trn"),
      at: Date.now(),
    });
    this.messages.set(outgoing.id, outgoing);
    keep(outgoing);
    await this.retry(outgoing);
  }

  /** The ids are ours: what has arrived already is not said twice. */
  retry(outgoing: Outgoing): Promise<void> {
    outgoing.problem = null;
    const { session } = outgoing;
    const before = this.#last.get(session);
    // With nothing before it, it leaves before the page shows it.
    const sent = before?.then(() => this.#deliver(outgoing)) ?? this.#deliver(outgoing);
    this.#last.set(session, sent);
    void sent.then(() => {
      if (this.#last.get(session) === sent) this.#last.delete(session);
    });
    return sent;
  }

  /** The server may be reached again. */
  resume(): void {
    for (const each of this.messages.values()) if (each.waits) void this.retry(each);
  }

  /** Take it back: it has not been said. */
  drop(outgoing: Outgoing): void {
    this.messages.delete(outgoing.id);
    localStorage.removeItem(keyOf(outgoing.id));
  }

  /** What was on its way when the page was closed. */
  restore(now = Date.now()): void {
    for (const kept of keptOnes()) {
      if (this.messages.has(kept.id)) continue;
      const outgoing = new Outgoing(kept);
      this.messages.set(kept.id, outgoing);
      if (now - kept.at < STILL_WANTED) void this.retry(outgoing);
      else outgoing.problem = new Problem(-1, t.composer.notSent, t.composer.notSentDetail);
    }
  }

  /** Someone leaves this browser, and takes along what they have not sent. */
  forget(user: string): void {
    this.messages.clear();
    for (const key of keysOf(user)) localStorage.removeItem(key);
  }

  async #deliver(outgoing: Outgoing): Promise<void> {
    if (!this.messages.has(outgoing.id)) return;
    try {
      if (outgoing.opening) await this.#open(outgoing, outgoing.opening);
      const turn = await call("POST /api/sessions/{session}/turns", {
        path: { session: outgoing.session },
        body: { id: outgoing.id, ...outgoing.wanted },
      });
      const arrived = (): void => {
        this.drop(outgoing);
      };
      if (opened.session?.id === outgoing.session) opened.session.took(turn, arrived);
      else arrived();
    } catch (error) {
      outgoing.problem = asProblem(error);
      if (outgoing.waits) this.#again();
    }
  }

  /** A break too short to be told of has no end that would be told of. */
  #again(): void {
    setTimeout(() => {
      if (!connection.isOffline) this.resume();
    }, AGAIN);
  }

  async #open(outgoing: Outgoing, opening: NonNullable<Kept["opening"]>): Promise<void> {
    if (sessions.get(outgoing.session)) return;
    const body = { id: outgoing.session, ...opening };
    sessions.took(await call("POST /api/sessions", { body }));
    if (router.place.page === "chat" && router.session === null) router.open(outgoing.session);
  }
}

function keyOf(id: string, user = me.who?.user.id ?? ""): string {
  return `${PREFIX}${user}:${id}`;
}

function keysOf(user?: string): string[] {
  const theirs = keyOf("", user);
  return Object.keys(localStorage).filter((key) => key.startsWith(theirs));
}

function keep(outgoing: Outgoing): void {
  try {
    localStorage.setItem(keyOf(outgoing.id), JSON.stringify(outgoing.kept));
  } catch {
    // No room: it is sent all the same, and shown until it has arrived.
  }
}

function keptOnes(): Kept[] {
  return keysOf()
    .map((key) => parsed<Kept>(localStorage.getItem(key)))
    .filter((kept) => kept !== null)
    .sort((a, b) => a.at - b.at);
}

export const outbox = new Outbox();
