/** Does what a command says. What came of it is told in a toast, unless it can be seen. */

import { Problem } from "../api/client";
import { clear, compacted, offerBack } from "../conversation/deeds";
import { attempt } from "../lib/attempt";
import { download } from "../lib/export";
import { about, spent } from "../lib/numbers";
import * as actions from "../state/actions";
import { layout } from "../state/layout.svelte";
import { models } from "../state/models.svelte";
import { router } from "../state/router.svelte";
import type { OpenSession } from "../state/session.svelte";
import { sessions } from "../state/sessions.svelte";
import { t } from "../text/text";
import { toast } from "../ui/toasts.svelte";
import { choice } from "./choice.svelte";
import type { Command, CommandName } from "./commands";

type Act = (session: OpenSession, argument: string) => Promise<string | void>;

/** False if it was not done: what was typed is to stay. */
export async function act(
  { name, argument }: Command,
  session: OpenSession | null,
  pickModel: () => void,
): Promise<boolean> {
  if (name === "new") router.open(null);
  else if (name === "help") layout.overlay = "help";
  else if (name === "sessions") layout.overlay = "palette";
  else if (name === "model") return await chooseModel(session, argument, pickModel);
  else if (session) return (await attempt(done(ACTS[name](session, argument)))) ?? false;
  else return said(t.composer.needsSession);
  return true;
}

async function done(act: Promise<string | void>): Promise<boolean> {
  const words = await act;
  if (words) toast(words);
  return true;
}

function said(words: string): false {
  toast(words, { kind: "bad" });
  return false;
}

async function chooseModel(
  session: OpenSession | null,
  argument: string,
  pickModel: () => void,
): Promise<boolean> {
  if (!argument) {
    pickModel();
    return true;
  }
  const model = models.offered.find((each) => each.name === argument || each.model === argument);
  if (!model) return said(t.composer.noSuchModel(argument));
  const changed = await choice.setModel(session, model.name);
  if (changed) toast(t.composer.modelChanged(model.name));
  return changed;
}

const ACTS: Record<Exclude<CommandName, "new" | "help" | "sessions" | "model">, Act> = {
  stop: async (session) => {
    if (!session.current) return t.composer.nothingRuns;
    await actions.cancel(session);
  },
  undo: async (session) => {
    await actions.undo(session);
    offerBack(session, t.composer.undone);
  },
  restore: async (session) => {
    await actions.restore(session);
    return t.composer.restored;
  },
  retry: async (session) => {
    await actions.retry(session);
  },
  continue: (session) => actions.proceed(session),
  compact: compacted,
  clear,
  branch: async (session) => {
    router.open((await actions.branch(session, null)).id);
  },
  rename: async (session, title) => {
    if (!title) throw new Problem(400, "", t.composer.needsTitle);
    await sessions.change(session.id, { title });
  },
  export: (session, format) => {
    download(session.id, format.toLowerCase() === "json" ? "json" : "markdown");
    return Promise.resolve();
  },
  usage: (session) => {
    const used = session.view?.counters;
    if (!used?.turns) return Promise.resolve(t.composer.nothingUsed);
    const tokens = (used.input_tokens ?? 0) + (used.output_tokens ?? 0);
    const cost = spent(used) ?? t.composer.costUnknown;
    return Promise.resolve(t.composer.used(used.turns, about(tokens), cost));
  },
};
