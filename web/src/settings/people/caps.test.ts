import { expect, test } from "vitest";
import { cap } from "./caps";

test("nothing is no cap, and nought is one", () => {
  expect(cap("  ", { isWhole: true })).toBeNull();
  expect(cap("0", { isWhole: true })).toBe(0);
});

test("numbers may be grouped", () => {
  expect(cap("1,500 000", { isWhole: true })).toBe(1_500_000);
  expect(cap("2.5", { isWhole: false })).toBe(2.5);
});

test("what is no number is refused", () => {
  for (const text of ["many", "-1", "1.5"]) expect(cap(text, { isWhole: true })).toBeUndefined();
});
