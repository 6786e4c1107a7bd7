import { describe, expect, test } from "vitest";
import { closed, wholeWords } from "./unfinished";
import { Renderer } from "./render";

function shown(text: string): string {
  const { blocks } = new Renderer().update(text, { streaming: true });
  const box = document.createElement("div");
  box.innerHTML = blocks.map((block) => block.html).join("");
  return (box.textContent ?? "").trim();
}

describe("words", () => {
  test.each([
    ["", ""],
    ["wor", "wor"],
    [" wor", " wor"],
    ["word,", "word"],
    ["don't", "don't"],
    ["snake_cas", "snake"],
    ["http://a.b", "http"],
    ["**wor", ""],
    ["#", ""],
    ["1.", ""],
    ["a wor", "a "],
    ["a word ", "a word "],
    ["a word\n", "a word\n"],
    ["日本語の文", "日本語の文"],
    ["see 日本語 hal", "see 日本語 "],
    ["x".repeat(100), "x".repeat(100)],
  ])("of %j one sees %j", (text, seen) => expect(wholeWords(text)).toBe(seen));

  test("half of a character is never shown", () => {
    const text = `${"x".repeat(80)}\ud83d`;
    expect(wholeWords(text)).toBe("x".repeat(80));
  });
});

describe("what is open at the end is closed", () => {
  test.each([
    ["a **bold te", "a **bold te**"],
    ["a *slanted te", "a *slanted te*"],
    ["a ***both te", "a ***both te***"],
    ["a **bold *and", "a **bold *and***"],
    ["~~gone", "~~gone~~"],
    ["some `code", "some `code`"],
    ["some ``co`de", "some ``co`de``"],
    ["done **here** and", "done **here** and"],
    ["a_name and b_name", "a_name and b_name"],
    ["2 * 3", "2 * 3"],
    ["\\*not", "\\*not"],
    ["`a ** b`", "`a ** b`"],
  ])("%j becomes %j", (text, whole) => expect(closed(text)).toBe(whole));

  test.each([
    ["opening **", "opening"],
    ["opening `", "opening"],
    ["see [the docs](http", "see the docs"],
    ["see [the docs](https://a.b/c%20d", "see the docs"],
    ["see **[the docs](http", "see **the docs**"],
    ["see ![a picture](http", "see"],
  ])("of %j no half mark is seen", (text, held) => expect(closed(text)).toBe(held));

  test("a link that is complete stays", () => {
    expect(closed("[a](https://b.c/(d)) and [b](e)")).toBe("[a](https://b.c/(d)) and [b](e)");
  });
});

describe("while text streams", () => {
  test("the head of a table waits for the row below it", () => {
    expect(shown("Look:\n\n| a | b |\n")).toBe("Look:");
    expect(shown("Look:\n\n| a | b |\n|---| ")).toBe("Look:");
    expect(shown("Look:\n\n| a | b |\n|---|---|\n")).toMatch(/a\s+b/);
  });

  test("a link shows its words before its address is there", () => {
    expect(shown("see [the docs](https://exam ")).toBe("see the docs");
  });

  test("an open fence is code, without its closing mark", () => {
    const { blocks } = new Renderer().update("```py\nx = 1\n``", { streaming: true });
    expect(blocks[0]!.html).toContain("<code>x = 1</code>");
  });

  test("emphasis in the last cell of a table is closed", () => {
    const { blocks } = new Renderer().update("|a|b|\n|-|-|\n| x | **y z ", { streaming: true });
    expect(blocks[0]!.html).toContain("<strong>y z</strong>");
  });

  test("finished text is taken as it is", () => {
    expect(new Renderer().update("a **bold te").blocks[0]!.html).toContain("a **bold te");
  });
});
