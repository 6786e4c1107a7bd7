import { expect, test } from "vitest";
import { beside } from "./place";

const room = { width: 400, height: 300 };
const size = { width: 100, height: 80 };

function anchor(
  left: number,
  top: number,
): { left: number; top: number; right: number; bottom: number } {
  return { left, top, right: left + 20, bottom: top + 20 };
}

test("it goes below, or above where there is no room", () => {
  expect(beside(anchor(50, 50), size, 4, "start", room)).toEqual({ left: 50, top: 74 });
  expect(beside(anchor(50, 260), size, 4, "start", room)).toEqual({ left: 50, top: 176 });
});

test("it never leaves the page", () => {
  expect(beside(anchor(380, 50), size, 4, "start", room).left).toBe(292);
  expect(beside(anchor(0, 50), size, 4, "end", room).left).toBe(8);
});
