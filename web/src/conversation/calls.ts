/** How a tool call stands. */

import type { ApprovalView, CallView } from "../api/types";
import type { OpenSession } from "../state/session.svelte";
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

/** What is not folded away: what went wrong, what waits, what a person was asked. */
export function stays(session: OpenSession, block: Block): boolean {
  if (block.kind !== "call") return false;
  if (block.name === "ask_user") return true;
  return !["done", "cancelled"].includes(stateOf(session, block));
}
