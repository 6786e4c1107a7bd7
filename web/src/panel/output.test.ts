import { expect, test } from "vitest";
import { tail } from "./output";

test("the end of a long output is shown", () => {
  expect(tail("one\ntwo\nthree\n", 2)).toBe("two\nthree");
});

test("colours and bells are left out", () => {
  expect(tail("\u001b[32mok\u001b[0m\u0007 \u001b]0;title\u0007done", 5)).toBe("ok done");
});

test("a line that was written over shows its last state", () => {
  expect(tail("10%\r50%\r100%\r\nready", 5)).toBe("100%\nready");
});
