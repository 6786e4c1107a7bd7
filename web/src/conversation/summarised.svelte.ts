/** Messages that a summary stands for, and the way to one that someone came for. */

import { call } from "../api/client";
import type { MessageView, Rewrite } from "../api/types";
import { isSummary } from "./turns";
import { setOpen } from "./unfolded.svelte";

const PAGE = 200;

type Wanted = {
  message: string;
  /** Summaries of summaries, the one in the conversation first. */
  through: string[];
  /** Called with the message, once it is in the page. */
  found: (element: Element) => void;
};

class Seeking {
  #wanted: Wanted | null = $state.raw(null);

  begin(wanted: Wanted): void {
    for (const summary of wanted.through) setOpen(openKey(summary), true);
    this.#wanted = wanted;
  }

  end(): void {
    this.#wanted = null;
  }

  /** What is looked for among the messages that a summary replaced: a summary, or at last the
   * message, for which `found` is to be called. */
  behind(summary: string): { id: string; found: Wanted["found"] | null } | null {
    const { through = [], message = "", found = null } = this.#wanted ?? {};
    const place = through.indexOf(summary);
    if (place < 0) return null;
    const next = through[place + 1];
    return next ? { id: next, found: null } : { id: message, found };
  }
}

export const seeking = new Seeking();

/** Under which it is known whether what a summary replaced is open. */
export function openKey(summary: string): string {
  return `replaced:${summary}`;
}

/** The summaries that lead from the conversation (`shown`) to a message; none if it is not behind one. */
export async function summariesOver(
  session: string,
  shown: MessageView[],
  message: string,
): Promise<string[]> {
  const path = { session };
  const { rewrites } = await call("GET /api/sessions/{session}/rewrites", { path });
  const inPage = new Set(shown.filter(isSummary).map((each) => each.id));
  /** Summaries that were summarised themselves, by the compaction that did. */
  const over = new Map<string, Rewrite>();
  // A summary is replaced after it was made: its compaction has been read before.
  for (const rewrite of rewrites.toSorted((a, b) => b.epoch - a.epoch)) {
    if (rewrite.kind !== "compaction") continue;
    for await (const each of replacedBy(session, rewrite.epoch)) {
      if (each.id === message) return wayUp(rewrite, inPage, over);
      if (isSummary(each)) over.set(each.id, rewrite);
    }
  }
  return [];
}

function wayUp(
  from: Rewrite,
  inPage: ReadonlySet<string>,
  over: ReadonlyMap<string, Rewrite>,
): string[] {
  const made = from.detail.replacements ?? [];
  const top = made.find((id) => inPage.has(id));
  if (top) return [top];
  const inner = made.find((id) => over.has(id));
  if (!inner) return [];
  const way = wayUp(over.get(inner)!, inPage, over);
  return way.length ? [...way, inner] : [];
}

async function* replacedBy(session: string, epoch: number): AsyncGenerator<MessageView> {
  let before: number | undefined;
  for (;;) {
    const page = await call("GET /api/sessions/{session}/rewrites/{epoch}/replaced", {
      path: { session, epoch },
      query: { limit: PAGE, ...(before === undefined ? {} : { before }) },
    });
    yield* page.messages.toReversed();
    before = page.messages[0]?.position;
    if (!page.older || before === undefined) return;
  }
}
