import { afterEach, expect, test, vi } from "vitest";
import { asProblem, call, type Problem } from "./client";

afterEach(() => {
  vi.unstubAllGlobals();
});

async function problemOf(work: Promise<unknown>): Promise<Problem> {
  return asProblem(await work.catch((error: unknown) => error));
}

const rename = (): Promise<unknown> =>
  call("PATCH /api/sessions/{session}", { path: { session: "ses_1" }, body: { title: "New" } });
const read = (): Promise<unknown> => call("GET /api/settings");

test("a change without the server says that nothing was changed, and what to do", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no connection")));
  const { message, isOffline } = await problemOf(rename());
  expect(message).toBe(
    "Roost can't be reached. Nothing was changed, as far as this page knows. Try again when it is back.",
  );
  expect(isOffline).toBe(true);
});

test("to read without the server says nothing of changes", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("no connection")));
  const { message } = await problemOf(read());
  expect(message).toBe("Roost can't be reached. Check the connection, then try again.");
});

test("a proxy that finds no server is told from a server that refuses", async () => {
  let answer = new Response("<h1>502 Bad Gateway</h1>", { status: 502 });
  vi.stubGlobal("fetch", () => Promise.resolve(answer));
  const { message, isOffline } = await problemOf(rename());
  expect(isOffline).toBe(true);
  expect(message).toContain("Nothing was changed");
  const body = { type: "busy", title: "Busy", status: 503, detail: "The disk is full." };
  answer = Response.json(body, { status: 503 });
  expect((await problemOf(rename())).message).toBe("The disk is full.");
});
