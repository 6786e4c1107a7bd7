import { expect, test } from "vitest";
import { scrollFor, shown, windowOf } from "./window";

const seen = { scrolled: 3200, height: 320, row: 32 };

test("of ten thousand rows only those near what is seen are in the page", () => {
  expect(windowOf(10_000, seen)).toEqual([92, 118]);
  expect(windowOf(10_000, { ...seen, scrolled: 0 })).toEqual([0, 18]);
  expect(windowOf(105, seen)).toEqual([92, 105]);
});

test("a list that became short while far down shows what there is", () => {
  expect(windowOf(3, seen)).toEqual([3, 3]);
  expect(windowOf(0, { ...seen, scrolled: 0 })).toEqual([0, 0]);
});

test("the row with the focus stays in the page", () => {
  expect(shown(10_000, seen, 5)[0]).toBe(5);
  expect(shown(10_000, seen, 900).at(-1)).toBe(900);
  expect(shown(10_000, seen, 100)).toHaveLength(26);
  expect(shown(10, { ...seen, scrolled: 0 }, 50)).toHaveLength(10);
});

test("scrolling to a row goes no further than needed", () => {
  expect(scrollFor(99, seen)).toBe(3168);
  expect(scrollFor(100, seen)).toBeUndefined();
  expect(scrollFor(110, seen)).toBe(3232);
});
