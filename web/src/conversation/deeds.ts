/** What can be done to what was said; if it can't, the page says why. */

import type { Attachment } from "../api/types";
import { attempt, succeeded } from "../lib/attempt";
import * as actions from "../state/actions";
import { router } from "../state/router.svelte";
import type { OpenSession } from "../state/session.svelte";
import { t } from "../text/text";
import { toast } from "../ui/toasts.svelte";

const words = t.conversation;

export function retry(
  session: OpenSession,
  turn: string | null,
  model: string | null = null,
): Promise<boolean> {
  return succeeded(actions.retry(session, turn, model));
}

export function proceed(session: OpenSession): Promise<boolean> {
  return succeeded(actions.proceed(session));
}

export async function takeBack(session: OpenSession, turn: string): Promise<void> {
  if (!(await succeeded(actions.undo(session, turn)))) return;
  const restore = (): void => void attempt(actions.restore(session));
  toast(words.undone, { action: { label: t.common.undo, run: restore } });
}

export async function restore(session: OpenSession): Promise<void> {
  if (await succeeded(actions.restore(session))) toast(words.compaction.undone, { kind: "good" });
}

export async function branch(session: OpenSession, message: string): Promise<void> {
  const made = await attempt(actions.branch(session, message));
  if (!made) return;
  router.open(made.id);
  toast(words.branched);
}

export function pin(session: OpenSession, message: string, pinned: boolean): Promise<boolean> {
  return succeeded(actions.pin(session, message, pinned));
}

export function sayInstead(
  session: OpenSession,
  turn: string,
  text: string,
  files: Attachment[],
): Promise<boolean> {
  return succeeded(actions.edit(session, turn, text, files));
}

export async function compact(session: OpenSession): Promise<void> {
  const done = await attempt(actions.compact(session, null));
  if (done !== undefined) toast(done ? words.end.compacted : words.end.nothingToCompact);
}
