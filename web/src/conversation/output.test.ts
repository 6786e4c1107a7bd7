import { expect, test } from "vitest";
import { diffIn, excerpt, exitStatus, firstLine, withoutExit } from "./output";
import { reasonOf } from "./reasons";

const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) => `line ${n}`).join("\n");

test("long output shows its head and its tail", () => {
  const { head, hidden, tail } = excerpt(lines(100));
  expect(head.split("\n")).toHaveLength(12);
  expect(hidden).toBe(64);
  expect(tail.endsWith("line 99")).toBe(true);
});

test("short output is shown whole, and a line of a megabyte is cut", () => {
  expect(excerpt(`${lines(40)}\n`)).toEqual({ head: lines(40), hidden: 0, tail: "" });
  expect(excerpt("x".repeat(1_000_000)).head.length).toBeLessThan(2100);
});

test("how a command ended is read from below its output", () => {
  const text = "1 failed\n[exit status 1 after 0.2 s]";
  expect(exitStatus(text)).toBe(1);
  expect(withoutExit(text)).toBe("1 failed");
  expect(exitStatus("[exit status 1 after 0.2 s] is what it said")).toBeNull();
});

test("the diff is found in the answer of an edit", () => {
  expect(diffIn("Changed a.py.\n@@ -1 +1 @@\n-a\n+b")).toBe("@@ -1 +1 @@\n-a\n+b");
  expect(diffIn("Wrote a.py: 3 lines.")).toBeNull();
});

test("the first line that says something stands for an error", () => {
  expect(firstLine("\n\nNo such file.\nMore")).toBe("No such file.");
});

test("a reason has a code, words, and what may help", () => {
  expect(reasonOf("key-refused: No. Check it: now.")).toEqual({
    code: "key-refused",
    words: "No. Check it: now.",
    help: "settings",
  });
  expect(reasonOf("context-too-long: Too long.")?.help).toBe("compact");
  expect(reasonOf("Something else")).toEqual({ code: "", words: "Something else", help: null });
  expect(reasonOf(null)).toBeNull();
});
