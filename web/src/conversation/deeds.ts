/** What can be done to what was said; if it can't, the page says why. */

import { asProblem } from "../api/client";
import type { Attachment } from "../api/types";
import { copyText } from "../lib/clipboard";
import * as actions from "../state/actions";
import { router } from "../state/router.svelte";
import type { OpenSession } from "../state/session.svelte";
import { t } from "../text/text";
import { announce } from "../ui/announce.svelte";
import { toast } from "../ui/toasts.svelte";

const words = t.conversation;

/** True if it was done. */
export async function tried(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    toast(asProblem(error).message, { kind: "bad" });
    return false;
  }
}

export async function copy(text: string): Promise<boolean> {
  const done = await copyText(text);
  if (done) announce(words.copied);
  else toast(words.notCopied, { kind: "bad" });
  return done;
}

export function retry(
  session: OpenSession,
  turn: string | null,
  model: string | null = null,
): Promise<boolean> {
  return tried(actions.retry(session, turn, model));
}

export function proceed(session: OpenSession): Promise<boolean> {
  return tried(actions.proceed(session));
}

export async function takeBack(session: OpenSession, turn: string): Promise<void> {
  if (!(await tried(actions.undo(session, turn)))) return;
  const restore = (): void => void tried(actions.restore(session));
  toast(words.undone, { action: { label: t.common.undo, run: restore } });
}

export async function restore(session: OpenSession): Promise<void> {
  if (await tried(actions.restore(session))) toast(words.compaction.undone, { kind: "good" });
}

export async function branch(session: OpenSession, message: string): Promise<void> {
  let made: string | null = null;
  const work = actions.branch(session, message).then((view) => {
    made = view.id;
  });
  if (!(await tried(work)) || made === null) return;
  router.open(made);
  toast(words.branched);
}

export function pin(session: OpenSession, message: string, pinned: boolean): Promise<boolean> {
  return tried(actions.pin(session, message, pinned));
}

export function sayInstead(
  session: OpenSession,
  turn: string,
  text: string,
  files: Attachment[],
): Promise<boolean> {
  return tried(actions.edit(session, turn, text, files));
}

export async function compact(session: OpenSession): Promise<void> {
  const work = actions.compact(session, null).then((done) => {
    toast(done ? words.end.compacted : words.end.nothingToCompact);
  });
  await tried(work);
}
