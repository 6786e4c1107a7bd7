import { afterEach, expect, test, vi } from "vitest";
import { cancel } from "./actions";
import { OpenSession } from "./session.svelte";

afterEach(() => {
  vi.unstubAllGlobals();
});

test("to stop an answer without the server says that nothing was stopped", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no connection")));
  await expect(cancel(new OpenSession("ses_1"))).rejects.toThrow("Nothing was stopped");
});

test("what the server says about stopping is said as it says it", async () => {
  const body = { type: "", title: "Busy", status: 503, detail: "The disk is full." };
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(body, { status: 503 })));
  await expect(cancel(new OpenSession("ses_1"))).rejects.toThrow("The disk is full.");
});
