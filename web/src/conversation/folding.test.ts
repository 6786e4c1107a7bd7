import { expect, test } from "vitest";
import type { CallView } from "../api/types";
import { rowsOf, timeOf } from "./folding";
import type { Block } from "./turns";

const base = { message: null, live: null };
const text = (words: string): Block => ({ ...base, kind: "text", key: `t${words}`, text: words });
const call = (key: string): Block => ({
  ...base,
  kind: "call",
  key,
  call: key,
  name: "echo",
  arguments: "{}",
  result: null,
});
const thought = (key: string): Block => ({
  ...base,
  kind: "reasoning",
  key,
  text: "Hm",
  duration: 9000,
});
const never = (): boolean => false;

test("steps of an ended turn are one line, with what was said in passing", () => {
  const rows = rowsOf([thought("1"), text("Look."), call("2"), text("Done.")], true, never);
  expect(rows.map((row) => row.kind)).toEqual(["steps", "block"]);
  expect(rows[0]?.kind === "steps" && rows[0].count).toBe(2);
});

test("nothing folds while the turn runs", () => {
  const rows = rowsOf([call("1"), call("2"), call("3")], false, never);
  expect(rows.map((row) => row.kind)).toEqual(["block", "block", "block"]);
});

test("a long text stays on the page, between the steps", () => {
  const poem = text("word ".repeat(60));
  const rows = rowsOf([call("1"), call("2"), poem, call("3"), call("4")], true, never);
  expect(rows.map((row) => row.key)).toEqual(["steps:1", poem.key, "steps:3"]);
});

test("what went wrong is not folded away", () => {
  const rows = rowsOf([call("1"), call("2"), call("3")], true, (block) => block.key === "3");
  expect(rows.map((row) => row.key)).toEqual(["steps:1", "3"]);
});

test("one step alone is shown as it is", () => {
  expect(rowsOf([call("1"), text("Done.")], true, never).map((row) => row.kind)).toEqual([
    "block",
    "block",
  ]);
});

test("steps side by side are not counted twice", () => {
  const view = (started_at: number, ended_at: number): CallView => ({
    id: "",
    turn: "",
    name: "",
    arguments: "",
    state: "done",
    result: null,
    started_at,
    ended_at,
  });
  const calls = new Map([
    ["1", view(1000, 5000)],
    ["2", view(1000, 4000)],
  ]);
  expect(timeOf([call("1"), call("2")], calls)).toBe(4000);
  expect(timeOf([call("3")], calls)).toBeNull();
});
