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
  if (await succeeded(actions.undo(session, turn))) offerBack(session, words.undone);
}

/** Everything that was said. It throws if it can't be done. */
export async function clear(session: OpenSession): Promise<void> {
  await actions.clear(session);
  offerBack(session, words.cleared);
}

/** Say what was taken out of the history, with the way back. */
export function offerBack(session: OpenSession, said: string): void {
  const run = (): void => void attempt(actions.restore(session));
  toast(said, { action: { label: t.common.undo, run } });
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
  const said = await attempt(compacted(session));
  if (said) toast(said);
}

/** What came of it, in words. It throws if it can't be done. */
export async function compacted(session: OpenSession, focus = ""): Promise<string> {
  const gained = await actions.compact(session, focus || null);
  return gained ? words.compacted : words.nothingToCompact;
}
