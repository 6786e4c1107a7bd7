import { expect, test } from "vitest";
import type { MessageView, TurnView } from "../api/types";
import { inLine, lastTurn, saidIn, summary } from "./said";

const picture = { kind: "image", blob: "b1", media_type: "image/png" } as const;
const file = { kind: "file", blob: "b2", media_type: "text/csv", name: "a.csv", size: 3 } as const;

function turn(id: string, text: string): TurnView {
  return {
    id,
    session: "ses_1",
    state: "completed",
    steer: false,
    route: null,
    effort: null,
    model: null,
    parts: [{ kind: "text", text }],
    message: null,
    step: 1,
    attempt: 1,
    reason: null,
    undone: false,
    created_at: 0,
    started_at: null,
    ended_at: null,
  };
}

function message(role: MessageView["role"], of: string, text: string): MessageView {
  const parts: MessageView["parts"] = [{ kind: "text", text }];
  const rest = { partial: false, pinned: false, position: 0, created_at: 0 };
  return { id: `msg_${text}`, role, turn: of, parts, ...rest };
}

test("words and files can be said again, what Roost added is left out", () => {
  const context = { kind: "context", label: "time", text: "It is noon." } as const;
  expect(saidIn([{ kind: "text", text: "look" }, picture, file, context])).toEqual({
    text: "look",
    files: [
      { file: "b1", name: "image.png" },
      { file: "b2", name: "a.csv" },
    ],
  });
});

test("the last turn is the one whose words stand last in the history", () => {
  const messages = [
    message("user", "trn_1", "first"),
    message("user", "trn_2", "second"),
    message("user", "trn_2", "joined it"),
    message("assistant", "trn_2", "answer"),
  ];
  expect(lastTurn(messages)).toEqual({ turn: "trn_2", said: { text: "second", files: [] } });
  expect(lastTurn([])).toBeNull();
});

test("a line of a list has the first words, or the names of the files", () => {
  expect(summary({ text: " a\n\nb  c ", files: [] })).toBe("a b c");
  expect(summary({ text: "x".repeat(300), files: [] }, 10)).toBe("xxxxxxxxx…");
  expect(summary({ text: "", files: [{ file: "b", name: "a.csv" }] })).toBe("a.csv");
});

test("what joins the turn that runs is heard before what waits for its own", () => {
  const queue = [turn("trn_1", "a"), { ...turn("trn_2", "b"), steer: true }, turn("trn_3", "c")];
  const ids = (turns: TurnView[]): string[] => turns.map((each) => each.id);
  expect(ids(inLine(queue, true))).toEqual(["trn_2", "trn_1", "trn_3"]);
});

test("a message in a session that rests is not shown as waiting", () => {
  expect(inLine([turn("trn_1", "a")], false)).toEqual([]);
  expect(inLine([turn("trn_1", "a"), turn("trn_2", "b")], false).length).toBe(1);
});
