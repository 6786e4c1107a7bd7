import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { MessageView } from "../api/types";
import { seeking, summariesOver } from "./summarised.svelte";

function said(id: string, position: number, note?: "summary"): MessageView {
  const parts = [{ kind: "text", text: id, ...(note ? { note } : {}) }];
  return { id, position, role: note ? "note" : "user", parts } as MessageView;
}

const newer = { epoch: 2, kind: "compaction", detail: { replacements: ["sum_2"] } };
const older = { epoch: 1, kind: "compaction", detail: { replacements: ["sum_1"] } };
const shown = [said("sum_2", 9, "summary"), said("msg_9", 10)];

/** By epoch and the position that is asked for, as the server has them. */
const PAGES: Record<string, { messages: MessageView[]; older: boolean }> = {
  "2": { messages: [said("msg_4", 4), said("msg_5", 5)], older: true },
  "2 before 4": { messages: [said("sum_1", 3, "summary")], older: false },
  "1": { messages: [said("msg_1", 1), said("msg_2", 2)], older: false },
};

beforeEach(() => {
  vi.stubGlobal("fetch", (address: string) => {
    const { pathname, searchParams } = new URL(address, "http://roost");
    const epoch = /rewrites\/(\d+)\/replaced/.exec(pathname)?.[1];
    if (!epoch) return Promise.resolve(Response.json({ rewrites: [older, newer] }));
    const before = searchParams.get("before");
    return Promise.resolve(Response.json(PAGES[before ? `${epoch} before ${before}` : epoch]));
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  seeking.end();
});

test("the way to a replaced message is by the summary that stands for it", async () => {
  expect(await summariesOver("ses_1", shown, "msg_4")).toEqual(["sum_2"]);
});

test("where a summary was summarised itself the way leads through both", async () => {
  expect(await summariesOver("ses_1", shown, "msg_1")).toEqual(["sum_2", "sum_1"]);
});

test("there is no way to what no summary stands for", async () => {
  expect(await summariesOver("ses_1", shown, "msg_gone")).toEqual([]);
  expect(await summariesOver("ses_1", [], "msg_4")).toEqual([]);
});

test("each summary on the way is told what to look for, and the last one whom to tell", () => {
  const found = vi.fn();
  seeking.begin({ message: "msg_1", through: ["sum_2", "sum_1"], found });
  expect(seeking.behind("sum_2")).toEqual({ id: "sum_1", found: null });
  expect(seeking.behind("sum_1")).toEqual({ id: "msg_1", found });
  expect(seeking.behind("sum_0")).toBeNull();
  seeking.end();
  expect(seeking.behind("sum_1")).toBeNull();
});
