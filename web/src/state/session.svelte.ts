/** One session as it stands on the server, followed live. */

import { SvelteMap } from "svelte/reactivity";
import { address, call, Problem } from "../api/client";
import { Stream } from "../api/stream";
import type {
  ApprovalView,
  CallView,
  Calls,
  ChangedView,
  MessageView,
  SessionView,
  SnapshotView,
  TurnView,
} from "../api/types";
import { Frames, type Haste } from "./frames";
import { Live } from "./live.svelte";
import { whileSeen } from "./visibility";

type SessionEvent = Calls["GET /api/sessions/{session}/events"]["answer"];

const PAGE = 100;

/** Loading, followed live, deleted, or refused for a reason that `problem` says. */
export type Standing = "loading" | "live" | "gone" | "refused";

/** The page and the first word of an answer are what one waits for. That a turn waits or begins is
 * told right before its first word. */
function hasteOf(event: SessionEvent): Haste {
  if (event.kind === "snapshot") return "now";
  if (event.kind === "streamed") return event.deltas.first_seq === 1 ? "now" : "frame";
  return event.kind === "changed" && event.events.some(isBeginning) ? "soon" : "frame";
}

function isBeginning(each: ChangedView["events"][number]): boolean {
  return each.kind === "turn" && (each.state === "queued" || each.state === "running");
}

export class OpenSession {
  standing: Standing = $state("loading");
  problem: Problem | null = $state.raw(null);
  view: SessionView | null = $state.raw(null);
  /** By position; older ones are read when wanted. */
  messages: MessageView[] = $state.raw([]);
  hasOlder = $state(false);
  readonly turns = new SvelteMap<string, TurnView>();
  readonly calls = new SvelteMap<string, CallView>();
  readonly approvals = new SvelteMap<string, ApprovalView>();
  /** Ids of the turns that wait, the next one first. */
  queued: string[] = $state.raw([]);
  readonly queue: TurnView[] = $derived(
    this.queued.map((id) => this.turns.get(id)).filter((each) => each !== undefined),
  );
  /** The turn under way: it runs, or waits for an answer. Every message asks for it. */
  readonly current: TurnView | null = $derived.by(() => {
    for (const turn of this.turns.values()) {
      if (turn.state === "running" || turn.state === "waiting") return turn;
    }
    return null;
  });
  /** What streams, if something does. */
  live: Live | null = $state.raw(null);
  /** What is being done to the session outside of a turn. */
  notice: string | null = $state(null);
  /** Grows whenever the history was rewritten: what was shown of it may be gone. */
  rewrites = $state(0);
  /** Which stream a message was seen in before it was there, by its id. */
  readonly streamed = new Map<string, string>();

  #stream: Stream<SessionEvent>;
  #end: (() => void) | null = null;
  #frames = new Frames();
  #older: Promise<void> | null = null;
  /** Of the messages that are shown. */
  #epoch: number | null = null;

  constructor(readonly id: string) {
    this.#stream = new Stream<SessionEvent>({
      address: (after) => address("/api/sessions/{session}/events", { session: id }, { after }),
      take: (event) => {
        this.#frames.push(() => {
          this.#take(event);
        }, hasteOf(event));
      },
      changed: (state, problem) => {
        if (state === "refused" && problem) this.#refuse(problem);
      },
    });
  }

  /** Follow it, from where it was left. */
  follow(): void {
    this.#end ??= whileSeen(this.#stream);
  }

  /** Nobody looks at it now. What is known stays. */
  leave(): void {
    this.#end?.();
    this.#end = null;
  }

  get pendingApprovals(): ApprovalView[] {
    return [...this.approvals.values()].filter((each) => each.state === "pending");
  }

  /** Read the page of messages before those that are known. */
  older(): Promise<void> {
    this.#older ??= this.#readOlder().finally(() => {
      this.#older = null;
    });
    return this.#older;
  }

  /** What the server has confirmed of a turn, maybe before the stream tells of it. Once it is known
   * here, `then` is called. */
  took(turn: TurnView, then?: () => void): void {
    this.#frames.push(() => {
      this.#confirm(turn);
      then?.();
    }, "soon");
  }

  /** A message was pinned, or is not any more. */
  pinned(message: string, pinned: boolean): void {
    this.messages = this.messages.map((each) =>
      each.id === message && each.pinned !== pinned ? { ...each, pinned } : each,
    );
  }

  #confirm(turn: TurnView): void {
    if (this.turns.has(turn.id)) return;
    this.turns.set(turn.id, turn);
    if (turn.state === "queued") this.queued = [...this.queued, turn.id];
  }

  #take(event: SessionEvent): void {
    switch (event.kind) {
      case "snapshot":
        this.#anew(event);
        break;
      case "changed":
        this.#change(event);
        break;
      case "streamed":
        if (!this.#streams(event.cursor)?.take(event.deltas)) this.#stream.restart();
        break;
      case "rewound":
        if (this.live?.turn === event.turn) this.live = new Live(event.turn, event.attempt);
        break;
      case "noticed":
        this.notice = event.text;
        break;
      case "end":
        if (event.reason === "gone") this.#gone();
        break;
    }
  }

  #anew(snapshot: SnapshotView): void {
    if (this.#epoch !== snapshot.session.epoch) {
      this.rewrites++;
      if (this.#epoch !== null) this.#forget();
    }
    const kept = this.#olderThan(snapshot);
    this.messages = [...kept, ...snapshot.messages];
    if (!kept.length) this.hasOlder = snapshot.older;
    this.view = snapshot.session;
    this.#epoch = snapshot.session.epoch;
    this.#know(snapshot);
    for (const turn of snapshot.queue) this.turns.set(turn.id, turn);
    if (snapshot.turn) this.turns.set(snapshot.turn.id, snapshot.turn);
    this.queued = snapshot.queue.map((turn) => turn.id);
    const { turn, attempt = 0 } = snapshot.cursor;
    const before = this.#streams(snapshot.cursor);
    this.live = turn ? new Live(turn, attempt, before?.key) : null;
    for (const run of snapshot.deltas) this.live?.take(run);
    this.standing = "live";
    this.problem = null;
  }

  /** The history is another one: what belonged to the old one is of no use. */
  #forget(): void {
    for (const known of [this.turns, this.calls, this.approvals, this.streamed]) known.clear();
  }

  /** What is known from before a snapshot, if it is of the same history and without a gap. */
  #olderThan({ session, messages }: SnapshotView): MessageView[] {
    const first = messages[0];
    if (!first || this.#epoch !== session.epoch) return [];
    const meets = this.messages.some((each) => each.position >= first.position);
    return meets ? this.messages.filter((each) => each.position < first.position) : [];
  }

  #change(change: ChangedView): void {
    this.notice = null;
    if (change.session) this.view = change.session;
    if (this.view) this.view = { ...this.view, revision: change.cursor.revision };
    this.#know(change);
    this.#requeue(change.turns ?? []);
    if (change.messages?.length) this.#add(change.messages);
    for (const event of change.events) {
      if (event.kind === "attempt") {
        this.live = new Live(event.turn, event.attempt);
      } else if (event.kind === "turn" && event.turn === this.live?.turn) {
        if (event.state !== "running") this.live = null;
      } else if (event.kind === "session" && event.fields.includes("pinned_messages")) {
        this.#stream.restart();
        return;
      } else if (event.kind === "rewrite") {
        this.rewrites++;
        this.#stream.restart();
        return;
      }
    }
  }

  #know(told: { turns?: TurnView[]; calls?: CallView[]; approvals?: ApprovalView[] }): void {
    for (const turn of told.turns ?? []) this.turns.set(turn.id, turn);
    for (const each of told.calls ?? []) this.calls.set(each.id, each);
    for (const each of told.approvals ?? []) this.approvals.set(each.id, each);
  }

  #requeue(turns: TurnView[]): void {
    let queued = this.queued;
    for (const turn of turns) {
      const waits = turn.state === "queued";
      if (waits && !queued.includes(turn.id)) queued = [...queued, turn.id];
      else if (!waits) queued = queued.filter((each) => each !== turn.id);
    }
    this.queued = queued;
  }

  #add(messages: MessageView[]): void {
    const changed = new Map(messages.map((each) => [each.id, each]));
    const all = this.messages.map((each) => {
      const now = changed.get(each.id);
      changed.delete(each.id);
      return now ?? each;
    });
    this.messages = [...all, ...changed.values()].sort((a, b) => a.position - b.position);
    const { live } = this;
    for (const each of messages) {
      if (!live || each.role !== "assistant" || each.turn !== live.turn) continue;
      if (live.parts.length) this.streamed.set(each.id, live.key);
      live.settle();
    }
  }

  #streams(cursor: { turn?: string | null; attempt?: number }): Live | null {
    const { live } = this;
    return live?.turn === cursor.turn && live?.attempt === cursor.attempt ? live : null;
  }

  async #readOlder(): Promise<void> {
    const first = this.messages[0];
    const { rewrites } = this;
    if (!first || !this.hasOlder) return;
    const page = await call("GET /api/sessions/{session}/messages", {
      path: { session: this.id },
      query: { before: first.position, limit: PAGE },
    });
    if (rewrites !== this.rewrites) return;
    this.hasOlder = page.older;
    this.#know(page);
    this.messages = [...page.messages, ...this.messages];
  }

  #refuse(problem: Problem): void {
    this.problem = problem;
    if (problem.status === 404) this.#gone();
    else if (problem.status !== 401) this.standing = "refused";
  }

  #gone(): void {
    this.standing = "gone";
    this.leave();
  }
}
