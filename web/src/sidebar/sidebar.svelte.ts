/** What the sidebar shows, kept while it is closed. */

import { SvelteSet } from "svelte/reactivity";
import { asProblem, call, type Problem } from "../api/client";
import type { Hit, SessionView } from "../api/types";
import { attempt } from "../lib/attempt";
import { debounced } from "../lib/debounced";
import { later } from "../lib/later";
import { parsed } from "../lib/parsed";
import { router } from "../state/router.svelte";
import { sessions } from "../state/sessions.svelte";
import { t } from "../text/text";
import { toast } from "../ui/toasts.svelte";

const HITS = 30;

class Search {
  words = $state("");
  titles: SessionView[] = $state.raw([]);
  hits: Hit[] = $state.raw([]);
  isLoading = $state(false);
  isWhole = $state(true);
  problem: Problem | null = $state.raw(null);
  #abort: AbortController | null = null;
  #soon = debounced(() => {
    void this.find();
  });

  get isOn(): boolean {
    return this.words.trim() !== "";
  }

  type(words: string): void {
    this.words = words;
    this.#abort?.abort();
    this.isLoading = this.isOn;
    if (this.isOn) this.#soon();
    else this.#show([], []);
  }

  async find(): Promise<void> {
    if (!this.isOn) return;
    await this.#ask(async (signal) => {
      const words = this.words.trim();
      const [titles, hits] = await Promise.all([
        call("GET /api/sessions", { query: { title: words, limit: 5 }, signal }),
        call("GET /api/search", { query: { words, limit: HITS }, signal }),
      ]);
      this.#show(titles.sessions, hits.hits);
    });
  }

  async more(): Promise<void> {
    if (this.isWhole || this.isLoading) return;
    await this.#ask(async (signal) => {
      const before = this.hits.at(-1)?.seq ?? null;
      const query = { words: this.words.trim(), limit: HITS, before };
      const { hits } = await call("GET /api/search", { query, signal });
      this.hits = [...this.hits, ...hits];
      this.isWhole = hits.length < HITS;
    });
  }

  /** Only the last question counts. */
  async #ask(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    this.isLoading = true;
    try {
      await run(abort.signal);
      this.problem = null;
    } catch (error) {
      if (abort.signal.aborted) return;
      this.problem = asProblem(error);
    }
    if (this.#abort === abort) this.isLoading = false;
  }

  #show(titles: SessionView[], hits: Hit[]): void {
    this.titles = titles;
    this.hits = hits;
    this.isWhole = hits.length < HITS;
    this.problem = null;
  }
}

class Sidebar {
  readonly search = new Search();
  isArchive = $state(false);
  /** Told to be deleted; until that is done it can be undone. */
  readonly deleted = new SvelteSet<string>();
  /** The session whose project is being asked for. */
  moving: SessionView | null = $state.raw(null);
  readonly folded = new SvelteSet<string>(kept());

  fold(project: string): void {
    if (!this.folded.delete(project)) this.folded.add(project);
    localStorage.setItem("folded", JSON.stringify([...this.folded]));
  }

  /** Names of projects are someone's own. */
  forget(): void {
    this.folded.clear();
    localStorage.removeItem("folded");
  }

  delete(session: SessionView): void {
    const wasOpen = router.session === session.id;
    this.deleted.add(session.id);
    if (wasOpen) router.open(null);
    later({
      said: t.sidebar.deleted(titleOf(session)),
      run: async () => {
        await sessions.remove(session.id);
        this.deleted.delete(session.id);
      },
      back: () => {
        this.deleted.delete(session.id);
        if (wasOpen && router.place.page === "chat" && !router.session) router.open(session.id);
      },
    });
  }

  async archive(session: SessionView): Promise<void> {
    await sessions.change(session.id, { archived: true });
    const undo = (): void => {
      void attempt(sessions.change(session.id, { archived: false }));
    };
    const action = { label: t.common.undo, run: undo };
    toast(t.sidebar.archived(titleOf(session)), { action });
  }
}

function kept(): string[] {
  const found = parsed<unknown>(localStorage.getItem("folded"));
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function titleOf(session: { title: string | null }): string {
  return session.title ?? t.common.untitled;
}

export const sidebar = new Sidebar();
