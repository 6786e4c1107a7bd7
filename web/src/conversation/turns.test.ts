import { expect, test } from "vitest";
import type { MessageView } from "../api/types";
import { Live } from "../state/live.svelte";
import { coming, grouped, isContinuation, isSummary, liveBlocks, wordsKept } from "./turns";

let position = 0;

function message(
  role: MessageView["role"],
  turn: string | null,
  parts: MessageView["parts"] | string,
  more: Partial<MessageView> = {},
): MessageView {
  position += 1;
  return {
    id: `msg_${position}`,
    role,
    parts: typeof parts === "string" ? [{ kind: "text", text: parts }] : parts,
    turn,
    partial: false,
    pinned: false,
    position,
    created_at: position * 1000,
    ...more,
  };
}

function note(turn: string, note: "summary" | "continuation", text: string): MessageView {
  return message("note", turn, [{ kind: "text", text, note }]);
}

const called = { kind: "tool_call", call: "call_1", name: "echo", arguments: "{}" } as const;
const result = {
  kind: "tool_result",
  call: "call_1",
  content: [{ kind: "text", text: "said" }],
} as MessageView["parts"][number];

test("messages of a turn stand together, and a call has its result", () => {
  const groups = grouped([
    message("user", "a", "Hello"),
    message("assistant", "a", [{ kind: "text", text: "Look." }, called]),
    message("tool", "a", [result]),
    message("assistant", "a", "Done."),
    message("user", "b", "Thanks"),
  ]);
  expect(groups.map((each) => each.key)).toEqual(["a", "b"]);
  expect(groups[0]?.blocks.map((each) => each.kind)).toEqual(["user", "text", "call", "text"]);
  const call = groups[0]?.blocks[2];
  expect(call?.kind === "call" && call.result).toBe(result);
});

test("what is on its way has the names that it will have in the history", () => {
  const sent = coming("a", [{ kind: "text", text: "Hello" }], 1000);
  const joined = message("user", "a", "And this");
  const [stored] = grouped([message("user", "a", "Hello"), joined]);
  expect(stored?.key).toBe(sent.key);
  expect(stored?.blocks.map((each) => each.key)).toEqual([sent.blocks[0]?.key, joined.id]);
});

test("a file that the agent sent stands beside its words, one that it read does not", () => {
  const file = { kind: "file", blob: "b", media_type: "text/csv", name: "t.csv", size: 3 } as const;
  const sent = { ...file, sent: true };
  const groups = grouped([
    message("assistant", "a", [called]),
    message("tool", "a", [{ kind: "tool_result", call: "call_1", content: [file, sent] }]),
    message("assistant", "a", "There."),
  ]);
  const blocks = groups[0]?.blocks ?? [];
  expect(blocks.map((each) => each.kind)).toEqual(["call", "attached", "text"]);
  expect(blocks[1]).toMatchObject({ part: sent });
});

test("what has no turns is grouped by the person's messages", () => {
  const groups = grouped([
    message("user", null, "One"),
    message("assistant", null, "1"),
    message("user", null, "Two"),
    message("assistant", null, "2"),
  ]);
  expect(groups.map((each) => each.messages.length)).toEqual([2, 2]);
});

test("a summary stands alone, and the turn that it cuts in two ends once", () => {
  const summary = note("a", "summary", "What was said:\n\nx");
  const first = message("assistant", "a", "Before");
  const groups = grouped([first, summary, message("assistant", "a", "After")]);
  expect(groups.map((each) => each.key)).toEqual([first.id, summary.id, "a"]);
  expect(groups.map((each) => each.isLast)).toEqual([false, true, true]);
  expect(isSummary(summary)).toBe(true);
});

test("older messages of the first turn join it, under the same name", () => {
  const later = message("assistant", "a", "Later");
  const before = grouped([later]);
  const earlier = message("user", "a", "Earlier", { position: 0 });
  expect(grouped([earlier, later], new Map(), before).map((each) => each.key)).toEqual(["a"]);
});

test("a group that has not changed is the one of before", () => {
  const messages = [message("user", "a", "Hello"), message("assistant", "a", "Hi")];
  const before = grouped(messages);
  const after = grouped([...messages, message("user", "b", "More")], new Map(), before);
  expect(after[0]).toBe(before[0]);
  const pinned = [{ ...messages[0]!, pinned: true }, messages[1]!];
  expect(grouped(pinned, new Map(), before)[0]).not.toBe(before[0]);
});

test("a message keeps the names that its parts had while they streamed", () => {
  const live = new Live("a", 1);
  live.take({
    first_seq: 1,
    last_seq: 4,
    deltas: [
      { kind: "reasoning", text: "Hm" },
      { kind: "text", text: "Look." },
      { kind: "tool_call", call: "call_1", name: "echo", arguments: "{" },
      { kind: "text", text: "And" },
    ],
  });
  const streamed = liveBlocks(live).map((each) => each.key);
  const told = message("assistant", "a", [
    { kind: "reasoning", text: "Hm" },
    { kind: "text", text: "Look." },
    called,
    { kind: "text", text: "And so on" },
  ]);
  const [group] = grouped([told], new Map([[told.id, live.key]]));
  expect(group?.blocks.map((each) => each.key)).toEqual(streamed);
});

test("words of a part of an answer are counted, those of a whole one are not", () => {
  const [group] = grouped([
    message("assistant", "a", "All of it."),
    message("assistant", "a", "One two  three", { partial: true }),
  ]);
  expect(wordsKept(group!)).toBe(3);
});

test("empty texts are nothing, and a note that goes on is known", () => {
  const [group] = grouped([message("assistant", "a", "  ")]);
  expect(group?.blocks).toEqual([]);
  expect(isContinuation(note("a", "continuation", "Go on."))).toBe(true);
  expect(isContinuation(message("note", "a", "Your workspace was emptied."))).toBe(false);
});
