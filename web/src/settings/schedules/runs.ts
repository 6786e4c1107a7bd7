/** Runs of a schedule: which go on, how they went, and pages of them put together. */

import type { ScheduleRun } from "../../api/types";

export function isUnderWay({ state }: ScheduleRun): boolean {
  return state === "queued" || state === "running";
}

export function toneOf({ state }: ScheduleRun): "good" | "warn" | "bad" | "quiet" {
  if (state === "completed") return "good";
  if (state === "failed" || state === "interrupted") return "bad";
  return state === "waiting" || state === "missed" ? "warn" : "quiet";
}

/** What was read last counts; the newest first. */
export function joined(known: ScheduleRun[], found: ScheduleRun[]): ScheduleRun[] {
  const all = new Map([...known, ...found].map((each) => [each.tick, each]));
  return [...all.values()].sort((a, b) => b.tick - a.tick);
}
