import { describe, expect, test } from "vitest";
import { readDiff, type Line } from "./diff";

function marks(line: Line): string {
  return line.words.map((word) => (word.changed ? `[${word.text}]` : word.text)).join("");
}

const EDIT = `Changed src/app.py.
@@ -10,4 +10,5 @@
 def run():
-    total = count(old)
+    total = count(new)
+    log(total)
     return total
 # end`;

describe("what our tools answer", () => {
  test("is read with its numbers", () => {
    const { hunks, notes, added, removed } = readDiff(EDIT);
    expect(notes).toEqual(["Changed src/app.py."]);
    expect([added, removed]).toEqual([2, 1]);
    expect(hunks[0]!.lines.map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ["same", 10, 10],
      ["removed", 11, undefined],
      ["added", undefined, 11],
      ["added", undefined, 12],
      ["same", 12, 13],
      ["same", 13, 14],
    ]);
  });

  test("may end with a note on what was left out", () => {
    const { rest, hunks } = readDiff("@@ -1,200 +1,200 @@\n-a\n+b\n[398 more lines of the diff]");
    expect(rest).toEqual(["[398 more lines of the diff]"]);
    expect(hunks[0]!.lines).toHaveLength(2);
  });

  test("may be words alone", () => {
    expect(readDiff("Changed a.\nOnly line ends or the encoding changed.")).toMatchObject({
      hunks: [],
      notes: ["Changed a.", "Only line ends or the encoding changed."],
    });
  });
});

describe("a patch", () => {
  test("has headers, and lines that look like them", () => {
    const text =
      "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ title\n--- gone\n+++ come\n same\n@@ -9 +9 @@\n-a\n+b";
    const { hunks, notes } = readDiff(text);
    expect(notes).toEqual([]);
    expect(hunks.map((hunk) => [hunk.title, hunk.lines.length])).toEqual([
      ["title", 3],
      ["", 2],
    ]);
    expect(marks(hunks[0]!.lines[0]!)).toContain("-- gone".slice(0, 2));
  });

  test("may lack a line end, or the space of an empty line", () => {
    const text = "@@ -1,3 +1,3 @@\n a\n\n-b\n\\ No newline at end of file\n+c\n";
    expect(readDiff(text).hunks[0]!.lines.map((line) => line.kind)).toEqual([
      "same",
      "same",
      "removed",
      "added",
    ]);
  });
});

describe("words", () => {
  test("that differ are marked in lines that took each other's place", () => {
    const { lines } = readDiff("@@ -1 +1 @@\n-total = count(old)\n+total = count(new_one)")
      .hunks[0]!;
    expect(lines.map(marks)).toEqual(["total = count([old])", "total = count([new_one])"]);
  });

  test("are not marked where lines have little in common", () => {
    const { lines } = readDiff("@@ -1 +1 @@\n-import os\n+x = {1: 'completely else'}").hunks[0]!;
    expect(lines.every((line) => line.words.every((word) => !word.changed))).toBe(true);
  });

  test("are compared also where a line was added behind", () => {
    const { lines } = readDiff("@@ -1 +1,2 @@\n-epoch: int = 41\n+epoch: int = 42\n+x = 1")
      .hunks[0]!;
    expect(lines.map(marks)).toEqual(["epoch: int = [41]", "epoch: int = [42]", "x = 1"]);
  });

  test("together are the line", () => {
    const { lines } = readDiff("@@ -1 +1 @@\n-  a  b\tc — é\n+  a  x\tc — è").hunks[0]!;
    expect(lines.map((line) => line.words.map((word) => word.text).join(""))).toEqual([
      "  a  b\tc — é",
      "  a  x\tc — è",
    ]);
  });

  test("of a very long line are not compared", () => {
    const long = "a b ".repeat(5000);
    const { lines } = readDiff(`@@ -1 +1 @@\n-${long}x\n+${long}y`).hunks[0]!;
    expect(lines[0]!.words).toHaveLength(1);
  });
});
