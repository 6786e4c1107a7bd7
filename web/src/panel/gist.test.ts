import { expect, test } from "vitest";
import { gist } from "./gist";

test("a message is its words, its tools and its files", () => {
  const parts = [
    { kind: "reasoning" as const, text: "hm" },
    { kind: "text" as const, text: "Looking." },
    { kind: "tool_call" as const, call: "c", name: "read_file", arguments: "{}" },
    { kind: "file" as const, blob: "b", media_type: "text/plain", name: "notes.txt", size: 1 },
  ];
  expect(gist(parts)).toBe("Looking.\nCalled read_file\nnotes.txt");
});

test("a long one is cut", () => {
  expect(gist([{ kind: "text", text: "a".repeat(1000) }])).toHaveLength(401);
});
