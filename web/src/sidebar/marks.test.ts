import { expect, test } from "vitest";
import { pieces } from "./marks";

const marked = (text: string, marks: number[][]): string[] =>
  pieces(text, marks).map((each) => (each.isMarked ? `[${each.text}]` : each.text));

test("what was found is marked, the rest is kept", () => {
  expect(marked("the blue bird", [[4, 8]])).toEqual(["the ", "[blue]", " bird"]);
  expect(marked("blue", [[0, 4]])).toEqual(["[blue]"]);
  expect(marked("none", [])).toEqual(["none"]);
});

test("an emoji before it counts as one character", () => {
  expect(marked("🐦🐦 bird", [[3, 7]])).toEqual(["🐦🐦 ", "[bird]"]);
});

test("marks that make no sense change no text", () => {
  const broken = [
    [2, 4],
    [1, 3],
  ];
  expect(marked("abcdef", broken).join("").replace(/[[\]]/g, "")).toBe("abcdef");
});
