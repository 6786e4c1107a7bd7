/** All of a user's sessions, as the sidebar shows them, and what waits for an answer. */

import { SvelteMap } from "svelte/reactivity";
import { asProblem, call, type Problem } from "../api/client";
import { Stream } from "../api/stream";
import type { ApprovalView, Calls, ChangeSession, SessionView } from "../api/types";
import { connection } from "./connection.svelte";
import { Frames } from "./frames";
import { places } from "./places.svelte";
import { whileSeen } from "./visibility";

type FeedEvent = Calls["GET /api/events"]["answer"];

const PAGE = 100;
/** After a break as many are read anew; whoever had more scrolls on from there. */
const AFTER_A_BREAK = 4;
/** Of those that are pinned, and of those in projects: they stand on top, however old they are. */
const MOST = 200;

/** One list of sessions, the latest activity first, read page by page. */
export class SessionList {
  sessions: SessionView[] = $state.raw([]);
  isWhole = $state(false);
  isLoading = $state(false);
  /** Up to here all are known. Some beyond it are too: pinned ones, and those that changed. */
  #edge: SessionView | undefined;

  constructor(private archived: boolean) {}

  /** The next page. */
  async more(): Promise<void> {
    if (this.isWhole || this.isLoading) return;
    this.isLoading = true;
    try {
      const found = await this.#page(this.#edge);
      this.isWhole = found.length < PAGE;
      this.#edge = found.at(-1) ?? this.#edge;
      this.add(found);
    } finally {
      this.isLoading = false;
    }
  }

  /** Read anew what is shown. `also` are some from further back that are wanted too. */
  async refresh(also: SessionView[] = []): Promise<void> {
    const pages = Math.min(Math.max(1, Math.ceil(this.sessions.length / PAGE)), AFTER_A_BREAK);
    const found: SessionView[] = [];
    let whole = false;
    for (let n = 0; n < pages && !whole; n++) {
      const page = await this.#page(found.at(-1));
      found.push(...page);
      whole = page.length < PAGE;
    }
    this.isWhole = whole;
    this.#edge = found.at(-1);
    this.sessions = sorted(found);
    this.add(also);
  }

  take(session: SessionView): void {
    const others = this.sessions.filter((each) => each.id !== session.id);
    const belongs = session.archived === this.archived;
    this.sessions = belongs ? sorted([...others, session]) : others;
  }

  add(found: SessionView[]): void {
    const known = new Map([...this.sessions, ...found].map((each) => [each.id, each]));
    this.sessions = sorted([...known.values()]);
  }

  drop(session: string): void {
    this.sessions = this.sessions.filter((each) => each.id !== session);
  }

  async #page(last: SessionView | undefined): Promise<SessionView[]> {
    const after = last ? { after_at: last.active_at, after: last.id } : {};
    const query = { archived: this.archived, limit: PAGE, ...after };
    return (await call("GET /api/sessions", { query })).sessions;
  }
}

function sorted(sessions: SessionView[]): SessionView[] {
  return sessions.sort((a, b) => b.active_at - a.active_at || (a.id < b.id ? 1 : -1));
}

class Sessions {
  /** Those at hand, and those that were put away. */
  readonly open = new SessionList(false);
  readonly archived = new SessionList(true);
  /** Questions without an answer, in all sessions. */
  readonly approvals = new SvelteMap<string, ApprovalView>();
  isLoaded = $state(false);
  /** Why the list could not be read anew: what is shown may not be all. */
  problem: Problem | null = $state.raw(null);
  #end: (() => void) | null = null;
  #frames = new Frames();

  follow(): void {
    const stream = new Stream<FeedEvent>({
      address: () => "/api/events",
      take: (event) => {
        this.#frames.push(() => {
          this.#take(event);
        }, "soon");
      },
      changed: (state) => {
        connection.tell(state);
      },
    });
    this.#end ??= whileSeen(stream);
  }

  leave(): void {
    this.#end?.();
    this.#end = null;
  }

  get(id: string | null): SessionView | undefined {
    const is = (each: SessionView): boolean => each.id === id;
    return this.open.sessions.find(is) ?? this.archived.sessions.find(is);
  }

  /** Sessions with a question; one of a subagent is asked in the session that it works for. */
  get asking(): ReadonlySet<string> {
    const asking = new Set<string>();
    for (const { session } of this.approvals.values()) {
      const parent = this.get(session)?.parent;
      asking.add(parent?.kind === "subagent" ? parent.session : session);
    }
    return asking;
  }

  /** What the server has confirmed. */
  took(session: SessionView): void {
    this.open.take(session);
    if (session.archived || this.archived.sessions.some((each) => each.id === session.id)) {
      this.archived.take(session);
    }
  }

  async change(id: string, change: ChangeSession): Promise<SessionView> {
    const changed = await call("PATCH /api/sessions/{session}", {
      path: { session: id },
      body: change,
    });
    this.took(changed);
    return changed;
  }

  async remove(id: string): Promise<void> {
    await call("DELETE /api/sessions/{session}", { path: { session: id } });
    this.#dropped(id);
  }

  /** Read the list anew. What was known stays if that fails. */
  async refresh(): Promise<void> {
    try {
      await this.#read();
      this.problem = null;
    } catch (error) {
      this.problem = asProblem(error);
    }
  }

  async #read(): Promise<void> {
    const [pinned, filed, { approvals }] = await Promise.all([
      call("GET /api/sessions", { query: { pinned: true, limit: MOST } }),
      call("GET /api/sessions", { query: { filed: true, limit: MOST } }),
      call("GET /api/approvals"),
    ]);
    await this.open.refresh([...pinned.sessions, ...filed.sessions]);
    if (this.archived.sessions.length) await this.archived.refresh();
    this.approvals.clear();
    for (const each of approvals) this.approvals.set(each.id, each);
    this.isLoaded = true;
    await Promise.all(approvals.map((each) => this.#find(each.session)));
  }

  /** Who waits for an answer is shown, however long ago it was. */
  async #find(id: string): Promise<void> {
    if (this.get(id)) return;
    this.took(await call("GET /api/sessions/{session}", { path: { session: id } }));
  }

  #dropped(id: string): void {
    this.open.drop(id);
    this.archived.drop(id);
    for (const [key, approval] of this.approvals) {
      if (approval.session === id) this.approvals.delete(key);
    }
  }

  #take(event: FeedEvent): void {
    switch (event.kind) {
      case "ready":
      case "refetch":
        void this.refresh();
        places.look();
        break;
      case "session":
        // One that was not there may have begun on a channel.
        if (!this.get(event.session.id)) places.look();
        this.took(event.session);
        break;
      case "removed":
        this.#dropped(event.session);
        break;
      case "approval":
        if (event.approval.state === "pending")
          this.approvals.set(event.approval.id, event.approval);
        else this.approvals.delete(event.approval.id);
        break;
    }
  }
}

export const sessions = new Sessions();
