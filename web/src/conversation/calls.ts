/** How a tool call stands. */

import type { ApprovalView, CallView } from "../api/types";
import { clock, date, daysBetween } from "../lib/time";
import type { OpenSession } from "../state/session.svelte";
import { t } from "../text/text";
import type { Block, CallBlock } from "./turns";

/** `writing` is one that the model is still asking for. */
export type CallState = CallView["state"] | "writing";

export function stateOf(session: OpenSession, block: CallBlock): CallState {
  const known = session.calls.get(block.call)?.state;
  if (known) return known;
  if (block.live) return "writing";
  // What was imported or copied has no more than its result.
  if (block.result) return block.result.error ? "failed" : "done";
  return "requested";
}

export function isOver(state: CallState): boolean {
  return state === "done" || state === "failed" || state === "unknown";
}

/** The latest question about a call. */
export function approvalOf(session: OpenSession, call: string): ApprovalView | null {
  let found: ApprovalView | null = null;
  for (const each of session.approvals.values()) {
    if (each.call === call && (!found || each.asked_at >= found.asked_at)) found = each;
  }
  return found;
}

/** How a question was settled, where and when; nothing while it waits. */
export function settled(approval: ApprovalView, now = Date.now()): string {
  const { state, answered_on: on, answered_at: at } = approval;
  const words = t.conversation.approval.settled;
  if (state === "pending") return "";
  if (state === "expired" || state === "void") return words[state];
  const day = at === null || daysBetween(at, now) === 0 ? "" : date(at, now);
  return [words[state](surface(on)), day, at === null ? "" : clock(at)].filter(Boolean).join(" · ");
}

/** A route begins with the name of its surface. */
function surface(route: string | null): string {
  const { surfaces, elsewhere } = t.conversation.approval;
  const [name = ""] = (route ?? "").split(":", 1);
  if (name in surfaces) return surfaces[name as keyof typeof surfaces];
  return name ? elsewhere(name[0]!.toUpperCase() + name.slice(1)) : "";
}

/** What is not folded away: what went wrong, what waits, what a person was asked. */
export function stays(session: OpenSession, block: Block): boolean {
  if (block.kind !== "call") return false;
  if (block.name === "ask_user") return true;
  return !["done", "cancelled"].includes(stateOf(session, block));
}
