import { expect, test } from "vitest";
import type { ApprovalView, CallView } from "../api/types";
import { OpenSession } from "../state/session.svelte";
import { approvalOf, isOver, settled, stateOf, stays } from "./calls";
import type { CallBlock } from "./turns";

function block(more: Partial<CallBlock> = {}): CallBlock {
  return {
    kind: "call",
    key: "call_1",
    call: "call_1",
    name: "terminal",
    arguments: "{}",
    message: null,
    result: null,
    live: null,
    ...more,
  };
}

function known(state: CallView["state"]): OpenSession {
  const session = new OpenSession("ses_1");
  session.calls.set("call_1", { id: "call_1", state } as CallView);
  return session;
}

const failed = { kind: "tool_result", call: "call_1", content: [], error: true } as const;

test("a call stands as the server says; what was imported, as its result says", () => {
  expect(stateOf(known("waiting"), block())).toBe("waiting");
  const session = new OpenSession("ses_1");
  expect(stateOf(session, block({ result: { ...failed, content: [] } }))).toBe("failed");
  expect(stateOf(session, block({ result: { ...failed, content: [], error: false } }))).toBe(
    "done",
  );
});

test("what went wrong or waits is never folded away", () => {
  for (const state of ["failed", "denied", "unknown", "waiting", "running"] as const) {
    expect(stays(known(state), block())).toBe(true);
  }
  expect(stays(known("done"), block())).toBe(false);
  expect(stays(known("done"), block({ name: "ask_user" }))).toBe(true);
});

test("a call that was asked about twice shows the latest question", () => {
  const session = known("waiting");
  const asked = (id: string, asked_at: number): ApprovalView =>
    ({ id, call: "call_1", asked_at }) as ApprovalView;
  session.approvals.set("b", asked("b", 2));
  session.approvals.set("a", asked("a", 1));
  expect(approvalOf(session, "call_1")?.id).toBe("b");
  expect(approvalOf(session, "call_2")).toBeNull();
});

test("what was denied or stopped did not run to its end", () => {
  expect(isOver("denied")).toBe(false);
  expect(isOver("cancelled")).toBe(false);
  expect(isOver("failed")).toBe(true);
});

test("a settled question says how, where and when", () => {
  const at = new Date(2026, 10, 15, 9, 5).getTime();
  const given = (state: ApprovalView["state"], answered_on: string | null): ApprovalView =>
    ({ state, answered_on, answered_at: at }) as ApprovalView;
  expect(settled(given("approved", "web"), at)).toMatch(
    /^You allowed this in the web app · \D?9:05/,
  );
  expect(settled(given("denied", "telegram:12"), at)).toMatch(/^You denied this on Telegram · /);
  const days = settled(given("answered", null), at + 3 * 86_400_000);
  expect(days).toMatch(/^You answered · .*15.* · /);
  expect(settled(given("expired", null), at)).toContain("in time");
  expect(settled(given("pending", null), at)).toBe("");
});
