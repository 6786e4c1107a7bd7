import { describe, expect, test } from "vitest";
import tokens from "../style/tokens.css?raw";
import code from "./code.css?raw";
import { colour, highlight, highlighted, languageOf, LONGEST } from "./highlight";

describe("languages", () => {
  test.each([
    ["py", "python"],
    ["Python", "python"],
    ["src/app/main.rs", "rust"],
    ["App.svelte", "xml"],
    ["Dockerfile", "dockerfile"],
    ["Makefile", "makefile"],
    ["pyproject.toml", "ini"],
    ["constructor", undefined],
    ["notes.unknown", undefined],
    ["", undefined],
  ])("%j is %j", (name, language) => expect(languageOf(name)).toBe(language));
});

describe("colours", () => {
  test("come as classes, and the code stays what it was", async () => {
    const box = document.createElement("code");
    box.textContent = 'x = "<script>" # \u202e';
    await colour(box, "py");
    expect(box.querySelector(".hljs-string")!.textContent).toBe('"<script>"');
    expect(box.querySelector("bdi")!.getAttribute("data-char")).toBe("U+202E");
    expect(box.textContent).toBe('x = "<script>" # \u202e');
    expect(box.querySelector("script")).toBeNull();
  });

  test("are kept for the next time", async () => {
    const html = await highlight("let a = 1", "ts");
    expect(highlighted("let a = 1", "typescript")).toBe(html);
  });

  test("are not for code that is long, or of an unknown language", async () => {
    expect(await highlight("x".repeat(LONGEST + 1), "py")).toBeUndefined();
    expect(await highlight("x", "klingon")).toBeUndefined();
  });

  test("do not replace what has come meanwhile", async () => {
    const box = document.createElement("code");
    box.textContent = "a = 1";
    const done = colour(box, "ruby");
    box.textContent = "a = 12";
    await done;
    expect(box.innerHTML).toBe("a = 12");
  });
});

describe("contrast", () => {
  const [light, dark] = [tokens, tokens.slice(tokens.indexOf('"dark"'))];
  const used = code.matchAll(/color: var\(--(\w+)\)/g);
  const names = [...new Set([...used].map((found) => found[1]!))];

  test("of every colour of code is 4.5 or more in both themes", () => {
    expect(names.length).toBeGreaterThan(5);
    for (const theme of [light, dark]) {
      for (const ground of ["panel", "ground", "raised"]) {
        for (const name of names) {
          expect(contrast(token(theme, name), token(theme, ground)), name).toBeGreaterThan(4.5);
        }
      }
    }
  });

  function token(theme: string, name: string): number[] {
    const hex = new RegExp(`--${name}: #(\\w{6})`).exec(theme)![1]!;
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
  }

  function contrast(one: number[], other: number[]): number {
    const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (high! + 0.05) / (low! + 0.05);
  }

  function luminance(colour: number[]): number {
    const [r, g, b] = colour.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
  }
});
