import { expect, test } from "vitest";
import type { Offered } from "../api/types";
import { hintOf, matching, shortName } from "./offers";

function model(name: string, more: Partial<Offered> = {}): Offered {
  const [provider = "", ...rest] = name.split("/");
  return { name, provider, model: rest.join("/"), context: null, ...more };
}

test("a search finds all words in any order, by provider", () => {
  const offered = [
    model("openai/gpt-6"),
    model("openrouter/openai/gpt-6"),
    model("anthropic/claude-5"),
  ];
  const { groups } = matching(offered, "GPT openai");
  expect(groups.map((each) => each.provider)).toEqual(["openai", "openrouter"]);
  expect(matching(offered, "").groups.length).toBe(3);
  expect(matching(offered, "llama").groups).toEqual([]);
});

test("of very many models the rest is counted", () => {
  const offered = Array.from({ length: 100 }, (_, n) => model(`a/m${n}`));
  const { groups, more } = matching(offered, "");
  expect((groups[0]?.models.length ?? 0) + more).toBe(100);
  expect(more).toBeGreaterThan(0);
});

test("a hint says what is known, and nothing else", () => {
  expect(hintOf(model("a/b"))).toBe("");
  const priced = { context: 200_000, input_price: 3, output_price: 0.15 };
  expect(hintOf(model("a/b", priced))).toBe("200K context · $3 in, $0.15 out");
  expect(hintOf(model("a/b", { input_price: 0, output_price: 0 }))).toBe("free");
});

test("a short name is the last part", () => {
  expect(shortName("openrouter/openai/gpt-6")).toBe("gpt-6");
});
