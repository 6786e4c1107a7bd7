import { expect, test } from "vitest";
import type { ScheduleRun } from "../../api/types";
import { isUnderWay, joined, toneOf } from "./runs";

function run(tick: number, state: ScheduleRun["state"]): ScheduleRun {
  return { tick, state, turn: null, session: null, created_at: tick };
}

test("what is read anew takes the place of what was known, the newest first", () => {
  const known = [run(2, "running"), run(1, "completed")];
  const found = [run(3, "queued"), run(2, "completed")];
  const all = joined(known, found);
  expect(all.map((each) => `${each.tick} ${each.state}`)).toEqual([
    "3 queued",
    "2 completed",
    "1 completed",
  ]);
});

test("what waits for a person is not watched as if it ran", () => {
  expect(isUnderWay(run(1, "running"))).toBe(true);
  expect(isUnderWay(run(1, "waiting"))).toBe(false);
  expect(toneOf(run(1, "waiting"))).toBe("warn");
  expect(toneOf(run(1, "interrupted"))).toBe("bad");
});
