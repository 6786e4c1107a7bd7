import { expect, test } from "vitest";
import { ago, DAY, daysBetween, duration, month } from "./time";

const NOON = Date.UTC(2026, 5, 15, 12);

test("a moment is said as people say it", () => {
  expect(ago(NOON - 5_000, NOON)).toBe("now");
  expect(ago(NOON - 5 * 60_000, NOON)).toBe("5 min. ago");
  expect(ago(NOON - DAY, NOON)).toBe("yesterday");
  expect(ago(NOON + 2 * 3_600_000, NOON)).toBe("in 2 hr.");
});

test("what is far has a date, with the year if it is another one", () => {
  expect(ago(NOON - 30 * DAY, NOON)).toBe("May 16");
  expect(ago(NOON - 300 * DAY, NOON)).toBe("Aug 19, 2025");
});

test("a duration has two units at most", () => {
  expect(duration(240)).toBe("240 ms");
  expect(duration(9_000)).toBe("9 s");
  expect(duration(125_000)).toBe("2 min 5 s");
  expect(duration(3_600_000)).toBe("1 h");
  expect(duration(90_000_000)).toBe("1 d 1 h");
});

test("a month has its year if that is another one", () => {
  expect(month(NOON - 40 * DAY, NOON)).toBe("May");
  expect(month(NOON - 300 * DAY, NOON)).toBe("August 2025");
});

test("days end at midnight, whatever the hours between", () => {
  const late = new Date(2026, 2, 28, 23, 59).getTime();
  expect(daysBetween(late, new Date(2026, 2, 29, 0, 1).getTime())).toBe(1);
  expect(daysBetween(late, new Date(2026, 2, 30, 23).getTime())).toBe(2);
  expect(daysBetween(late, late)).toBe(0);
});
