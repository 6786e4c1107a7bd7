import { expect, test } from "vitest";
import type { Offered } from "../api/types";
import { completed } from "./completing";

const offered: Offered[] = ["anthropic/claude-5", "openai/gpt-6"].map((name) => {
  const [provider = "", model = ""] = name.split("/");
  return { name, provider, model, context: null };
});

test("a command that takes something is left open for it", () => {
  expect(completed("/comp", offered)).toMatchObject([{ text: "/compact ", argument: "[focus]" }]);
  expect(completed("/und", offered)).toMatchObject([{ text: "/undo", argument: "" }]);
});

test("after /model the models are offered", () => {
  expect(completed("/model GPT", offered).map((each) => each.text)).toEqual([
    "/model openai/gpt-6",
  ]);
  expect(completed("/model ", offered).length).toBe(2);
});

test("words that are no command are left alone", () => {
  for (const text of ["", "hello", "/etc/ho", "/compact now", "see /undo"])
    expect(completed(text, offered), text).toEqual([]);
});
