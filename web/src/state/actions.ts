/** What a person does to a session that is shown. Each is a request; the stream tells what came of it. */

import { asProblem, call, Problem } from "../api/client";
import type { Answer, Attachment, SessionView, TurnView } from "../api/types";
import { t } from "../text/text";
import type { OpenSession } from "./session.svelte";
import { sessions } from "./sessions.svelte";

const at = (session: OpenSession): { session: string } => ({ session: session.id });

export async function cancel(session: OpenSession, turn: string | null = null): Promise<void> {
  try {
    await call("POST /api/sessions/{session}/cancel", { path: at(session), body: { turn } });
  } catch (error) {
    // What runs goes on, and whoever stopped it should know.
    if (!asProblem(error).isOffline) throw error;
    throw new Problem(0, t.errors.offline, t.errors.notStopped);
  }
}

export async function proceed(session: OpenSession): Promise<void> {
  session.took(await call("POST /api/sessions/{session}/continue", { path: at(session) }));
}

export async function retry(
  session: OpenSession,
  turn: string | null = null,
  model: string | null = null,
): Promise<TurnView> {
  const body = model ? { turn, model } : { turn };
  return await call("POST /api/sessions/{session}/retry", { path: at(session), body });
}

export async function undo(session: OpenSession, turn: string | null = null): Promise<void> {
  await call("POST /api/sessions/{session}/undo", { path: at(session), body: { turn } });
}

export async function restore(session: OpenSession): Promise<void> {
  await call("POST /api/sessions/{session}/restore", { path: at(session) });
}

export async function clear(session: OpenSession): Promise<void> {
  await call("POST /api/sessions/{session}/clear", { path: at(session) });
}

/** Say something else instead of what a turn began with. */
export async function edit(
  session: OpenSession,
  turn: string,
  text: string,
  files: Attachment[],
): Promise<void> {
  const path = { ...at(session), turn };
  await call("PUT /api/sessions/{session}/turns/{turn}", { path, body: { text, files } });
}

/** False if there was nothing to gain. */
export async function compact(session: OpenSession, focus: string | null): Promise<boolean> {
  const body = focus ? { focus } : {};
  const done = await call("POST /api/sessions/{session}/compact", { path: at(session), body });
  return done.compacted;
}

export async function branch(session: OpenSession, message: string | null): Promise<SessionView> {
  const body = { at: message };
  const made = await call("POST /api/sessions/{session}/branch", { path: at(session), body });
  sessions.took(made);
  return made;
}

export async function pin(session: OpenSession, message: string, pinned: boolean): Promise<void> {
  const path = { ...at(session), message };
  if (pinned) await call("PUT /api/sessions/{session}/messages/{message}/pin", { path });
  else await call("DELETE /api/sessions/{session}/messages/{message}/pin", { path });
  session.pinned(message, pinned);
}

export async function editQueued(
  session: OpenSession,
  turn: string,
  text: string,
  files: Attachment[],
): Promise<void> {
  const path = { ...at(session), turn };
  await call("PUT /api/sessions/{session}/queue/{turn}", { path, body: { text, files } });
}

/** Let what waits join the answer that is under way. */
export async function steerQueued(session: OpenSession, turn: string): Promise<void> {
  const path = { ...at(session), turn };
  await call("PUT /api/sessions/{session}/queue/{turn}", { path, body: { steer: true } });
}

export async function removeQueued(session: OpenSession, turn: string): Promise<void> {
  const path = { ...at(session), turn };
  await call("DELETE /api/sessions/{session}/queue/{turn}", { path });
}

export async function answer(approval: string, body: Answer): Promise<void> {
  const settled = await call("POST /api/approvals/{approval}", { path: { approval }, body });
  sessions.approvals.delete(settled.id);
}

/** Someone has read a session up to where it is now. */
export async function seen(session: OpenSession): Promise<void> {
  if (session.view?.unread) await sessions.change(session.id, { seen: session.view.revision });
}
