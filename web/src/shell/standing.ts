/** What a session does, in words. */

import type { OpenSession } from "../state/session.svelte";
import { t } from "../text/text";

export type Said = { text: string; kind: "busy" | "asks" | "quiet" };

const words = t.shell.states;

export function standingOf(session: OpenSession): Said {
  const { view } = session;
  if (!view) return { text: words.loading, kind: "quiet" };
  const [asked] = session.pendingApprovals;
  if (asked) {
    return { text: asked.kind === "question" ? words.question : words.approval, kind: "asks" };
  }
  const waiting = session.queue.length;
  const also = waiting ? `, ${words.queued(waiting).toLowerCase()}` : "";
  if (session.current) return { text: words.running + also, kind: "busy" };
  if (waiting) return { text: words.queued(waiting), kind: "busy" };
  return { text: atRest(session), kind: "quiet" };
}

function atRest({ view, turns }: OpenSession): string {
  if (view?.archived) return words.archived;
  if (view?.ended_at) return words.ended;
  const last = [...turns.values()].reduce<{ created_at: number; state: string } | null>(
    (latest, each) => (latest && latest.created_at > each.created_at ? latest : each),
    null,
  );
  if (last?.state === "interrupted") return words.interrupted;
  return last?.state === "failed" ? words.failed : words.idle;
}
