import { expect, test } from "vitest";
import type { SessionView } from "../api/types";
import { childOf, reported } from "./subagents";

const session = (id: string, call: string | null): SessionView =>
  ({ id, title: "Count", parent: { session: "ses_0", kind: "subagent", call } }) as SessionView;

const sessions = [session("ses_1", null), session("ses_2", "cal_2"), session("ses_3", "cal_3")];

test("a session says which call it works for, whatever it is called", () => {
  expect(childOf(sessions, "cal_2", "")?.id).toBe("ses_2");
  expect(childOf(sessions, "cal_3", "")?.id).toBe("ses_3");
  expect(childOf(sessions, "cal_4", "")).toBeNull();
});

test("a report names its session", () => {
  const report = "412 words.\n\n[subagent ses_1: 900 tokens, cost unknown]";
  expect(childOf(sessions, "cal_1", report)?.id).toBe("ses_1");
  expect(reported(report)).toBe("412 words.");
});
