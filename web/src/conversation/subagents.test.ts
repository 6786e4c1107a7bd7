import { expect, test } from "vitest";
import type { SessionView } from "../api/types";
import { childOf, reported } from "./subagents";

const session = (id: string, title: string, created_at: number): SessionView =>
  ({ id, title, created_at }) as SessionView;

const long = "Count   the words in every file of the project and say how many there are in all";
const sessions = [
  session("ses_1", "Something else", 1),
  session("ses_2", long.replace("   ", " ").slice(0, 60), 2),
  session("ses_3", long.replace("   ", " ").slice(0, 60), 3),
];

test("a report names its session", () => {
  const report = "412 words.\n\n[subagent ses_2: 900 tokens, cost unknown]";
  expect(childOf(sessions, "{}", report)?.id).toBe("ses_2");
  expect(reported(report)).toBe("412 words.");
});

test("before there is a report, the task tells which it is: the latest of its name", () => {
  expect(childOf(sessions, JSON.stringify({ task: long }), "")?.id).toBe("ses_3");
  const task = `${long}\n\nOnly of text files.`;
  expect(childOf(sessions, JSON.stringify({ task, background: "It is old." }), "")?.id).toBe(
    "ses_3",
  );
  expect(childOf(sessions, JSON.stringify({ task: "Never asked" }), "")).toBeNull();
});
