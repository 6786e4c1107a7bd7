import { beforeEach, expect, test, vi } from "vitest";
import { Problem } from "../api/client";
import { toasts } from "../ui/toasts.svelte";
import { later } from "./later";

let done: string[] = [];

function forget(run = (): Promise<void> => Promise.resolve(void done.push("run"))): void {
  later({ said: "Forgotten", run, back: () => void done.push("back") });
}

beforeEach(() => {
  for (const each of [...toasts.list]) each.close();
  done = [];
});

test("it is done once the notice goes", () => {
  forget();
  expect(done).toEqual([]);
  toasts.list[0]?.close();
  expect(done).toEqual(["run"]);
});

test("what is undone is never done", () => {
  forget();
  toasts.list[0]?.act();
  dispatchEvent(new Event("pagehide"));
  expect(done).toEqual(["back"]);
});

test("whoever leaves the page meant it", () => {
  forget();
  dispatchEvent(new Event("pagehide"));
  expect(done).toEqual(["run"]);
});

test("what failed comes back, and says so", async () => {
  forget(() => Promise.reject(new Problem(409, "No", "It is in use.")));
  toasts.list[0]?.close();
  await vi.waitFor(() => {
    expect(done).toEqual(["back"]);
  });
  expect(toasts.list[0]?.text).toBe("It is in use.");
});
