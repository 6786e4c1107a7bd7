/** What is written goes out: as a message, as other words for one that was sent, or as a command. */

import { succeeded } from "../lib/attempt";
import { edit } from "../state/actions";
import { outbox } from "../state/outgoing.svelte";
import { router } from "../state/router.svelte";
import type { OpenSession } from "../state/session.svelte";
import { sessions } from "../state/sessions.svelte";
import { toast } from "../ui/toasts.svelte";
import { act } from "./acting";
import { choice } from "./choice.svelte";
import { parse } from "./commands";
import { lastTurn } from "./said";
import { writing } from "./writing.svelte";

/** The outbox has it from here on, and shows what becomes of it. */
export function say(session: OpenSession | null, steer: boolean): void {
  const wanted = {
    text: writing.text.trim(),
    files: writing.attachments.named,
    ...(steer ? { steer } : {}),
    ...(choice.effort === "auto" ? {} : { effort: choice.effort }),
  };
  const left = sessions.get(router.left)?.id ?? null;
  void outbox.send(wanted, session?.id ?? null, choice.opening, session ? null : left);
  if (!session) {
    writing.carry();
    choice.reset();
  }
  writing.clear();
}

/** The words stay until the server has taken them. */
export async function sayInstead(session: OpenSession, turn: string): Promise<void> {
  const work = edit(session, turn, writing.text.trim(), writing.attachments.named);
  if (await succeeded(work)) writing.clear();
}

export async function command(session: OpenSession | null, pickModel: () => void): Promise<void> {
  const typed = writing.text;
  const found = parse(typed);
  if (typeof found === "string") {
    toast(found, { kind: "bad" });
    return;
  }
  writing.rewrite("");
  const done = await act(found, session, pickModel);
  if (!done && !writing.text) writing.rewrite(typed);
}

/** Take up the last words that were said. While an answer to them is given, they are said anew. */
export function recall(session: OpenSession): void {
  const last = lastTurn(session.messages);
  if (!last) return;
  writing.begin(last.said.text, session.current ? null : last.turn, last.said.files);
}
