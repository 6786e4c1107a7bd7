/** A message that someone came for: unfolded, and marked for a moment. */

import type { OpenSession } from "../state/session.svelte";
import { stays } from "./calls";
import { rowsOf } from "./folding";
import type { Group } from "./turns";
import { setOpen } from "./unfolded.svelte";

const MARKED = 2500;

export function groupOf(groups: Group[], message: string): Group | undefined {
  return groups.find((each) => each.messages.some(({ id }) => id === message));
}

/** A message may be folded away, or be the result of a call. */
export function unfold(session: OpenSession, group: Group, id: string): void {
  const message = group.messages.find((each) => each.id === id);
  const results = message?.parts.filter((part) => part.kind === "tool_result") ?? [];
  const calls = new Set(results.map((part) => part.call));
  for (const call of calls) setOpen(call, true);
  for (const row of rowsOf(group.blocks, true, (block) => stays(session, block))) {
    if (row.kind !== "steps") continue;
    if (row.blocks.some((each) => each.message?.id === id || calls.has(each.key)))
      setOpen(row.key, true);
  }
}

export function mark(element: Element): void {
  element.classList.add("marked");
  setTimeout(() => {
    element.classList.remove("marked");
  }, MARKED);
}
