/** How high a turn will be, before it was ever seen; and what stands between two turns. */

import { clock, date, daysBetween, exactly } from "../lib/time";
import { t } from "../text/text";
import type { Group } from "./turns";

const LINE = 24;
const LETTERS = 80;
const GAP = 10 * 60_000;

const known = new WeakMap<Group, number>();

/** Asked of every turn whenever one changes. */
export function estimate(group: Group): number {
  let height = known.get(group);
  if (height === undefined) {
    height = heightOf(group);
    known.set(group, height);
  }
  return height;
}

function heightOf(group: Group): number {
  let height = 24;
  let steps = 0;
  for (const block of group.blocks) {
    switch (block.kind) {
      case "user":
        height += 80;
        break;
      case "text":
        height += 16 + LINE * Math.ceil(block.text.length / LETTERS);
        break;
      case "note":
        height += 48;
        break;
      case "attached":
        height += 160;
        break;
      default:
        steps++;
    }
  }
  return height + (steps ? 36 : 0) + 40;
}

/** A time where a while has passed, a date where a day has. */
export function timeBetween(
  previous: Group | undefined,
  group: Group,
  now = Date.now(),
): { short: string; full: string } | null {
  const days = daysBetween(group.at, now);
  const sameDay = previous && daysBetween(previous.at, group.at) === 0;
  if (sameDay && group.at - endOf(previous) < GAP) return null;
  const day = sameDay || (!previous && days === 0) ? "" : dayName(group.at, days, now);
  return { short: [day, clock(group.at)].filter(Boolean).join(", "), full: exactly(group.at) };
}

function endOf(group: Group): number {
  return group.messages.at(-1)?.created_at ?? group.at;
}

function dayName(at: number, days: number, now: number): string {
  if (days === 0) return t.conversation.today;
  return days === 1 ? t.conversation.yesterday : date(at, now);
}
