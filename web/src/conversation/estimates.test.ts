import { expect, test } from "vitest";
import { timeBetween } from "./estimates";
import type { Group } from "./turns";

const at = (when: string): Group => {
  const time = new Date(when).getTime();
  return { key: when, turn: null, messages: [], blocks: [], at: time, isLast: true };
};
const now = new Date("2026-11-15T20:00").getTime();
const between = (before: string | null, after: string): string | undefined =>
  timeBetween(before === null ? undefined : at(before), at(after), now)?.short;

test("turns that follow each other have no time between them", () => {
  expect(between("2026-11-15T10:00", "2026-11-15T10:09")).toBeUndefined();
});

test("a pause shows the time, another day the day too", () => {
  expect(between("2026-11-15T10:00", "2026-11-15T10:11")).toMatch(/^10:11/);
  expect(between("2026-11-14T10:00", "2026-11-15T10:00")).toMatch(/^Today, 10:00/);
  expect(between("2026-11-13T23:59", "2026-11-14T00:01")).toMatch(/^Yesterday, 12:01/);
  expect(between("2026-11-01T10:00", "2026-11-03T10:00")).toContain("Nov");
});

test("the first turn has its time, and its day if that is not today", () => {
  expect(between(null, "2026-11-15T10:00")).toMatch(/^10:00/);
  expect(between(null, "2026-11-14T10:00")).toMatch(/^Yesterday/);
});
