import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Me, SessionView } from "../api/types";
import { me } from "./me.svelte";
import { outbox } from "./outgoing.svelte";
import { router } from "./router.svelte";
import { sessions } from "./sessions.svelte";

const OPENING = { model: "a/b", toolset: null, project: null };
const MINUTE = 60_000;

type Request = { path: string; body: Record<string, unknown> };
let requests: Request[];
let answers: (request: Request) => Response;

function json(value: unknown, status = 200): Response {
  return Response.json(value, { status });
}

/** As the server does: a session comes with the id that it was given, a turn too. */
function accept({ path, body }: Request): Response {
  if (path === "/api/sessions") return json({ id: body["id"], archived: false, active_at: 1 });
  return json({ id: body["id"], state: "queued", parts: [] }, 202);
}

beforeEach(() => {
  localStorage.clear();
  requests = [];
  answers = accept;
  me.who = { user: { id: "usr_1" } } as Me;
  router.open(null);
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    const request = { path, body: JSON.parse(String(init.body)) as Record<string, unknown> };
    requests.push(request);
    return Promise.resolve().then(() => answers(request));
  });
});

afterEach(() => {
  for (const each of outbox.messages.values()) outbox.drop(each);
  vi.unstubAllGlobals();
});

test("a first message opens a session that names the one that was left, and shows it", async () => {
  await outbox.send({ text: "hello", files: [] }, null, OPENING, "ses_before");
  const [opening, turn] = requests;
  expect(opening?.body).toMatchObject({ model: "a/b", previous: "ses_before" });
  expect(turn?.path).toBe(`/api/sessions/${String(opening?.body["id"])}/turns`);
  expect(router.session).toBe(opening?.body["id"]);
  expect(outbox.messages.size).toBe(0);
  expect(localStorage.length).toBe(0);
});

test("a message is on its way before anything else is done", async () => {
  const sent = outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  expect(requests.map((each) => each.path)).toEqual(["/api/sessions/ses_1/turns"]);
  await sent;
});

test("two messages sent at once arrive in their order, in one session", async () => {
  const first = outbox.send({ text: "one", files: [] }, null, OPENING, null);
  const second = outbox.send({ text: "two", files: [] }, null, OPENING, null);
  await Promise.all([first, second]);
  const turns = requests.filter((each) => each.path.endsWith("/turns"));
  expect(turns.map((each) => each.body["text"])).toEqual(["one", "two"]);
  expect(new Set(turns.map((each) => each.path)).size).toBe(1);
});

test("what could not be sent stays, and goes with the same id when it is tried again", async () => {
  answers = () => json({ title: "Full", detail: "No room.", type: "", status: 507 }, 507);
  await outbox.send({ text: "keep me", files: [] }, "ses_1", OPENING, null);
  const [waiting] = outbox.of("ses_1");
  expect(waiting?.problem?.detail).toBe("No room.");
  answers = accept;
  if (waiting) await outbox.retry(waiting);
  expect(requests.map((each) => each.body["id"])).toEqual([waiting?.id, waiting?.id]);
  expect(outbox.of("ses_1")).toEqual([]);
});

test("a page that was closed before the server confirmed sends again, with the same id", async () => {
  answers = () => json({}, 503);
  await outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  outbox.messages.clear();
  answers = accept;
  outbox.restore();
  await vi.waitFor(() => {
    expect(outbox.messages.size).toBe(0);
  });
  expect(requests[1]?.body).toEqual(requests[0]?.body);
  expect(localStorage.length).toBe(0);
});

test("what was not sent long ago is shown, and sent only if it is wanted", async () => {
  answers = () => json({}, 503);
  await outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  outbox.messages.clear();
  outbox.restore(Date.now() + 11 * MINUTE);
  expect(outbox.of("ses_1")[0]?.problem).not.toBeNull();
  expect(requests.length).toBe(1);
});

test("what found no server goes out when there is one again", async () => {
  answers = () => {
    throw new TypeError("no connection");
  };
  await outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  expect(outbox.of("ses_1")[0]?.problem?.isOffline).toBe(true);
  answers = accept;
  outbox.resume();
  await vi.waitFor(() => {
    expect(outbox.messages.size).toBe(0);
  });
});

test("what a break too short to be told of kept back goes out all the same", async () => {
  vi.useFakeTimers();
  answers = () => {
    throw new TypeError("no connection");
  };
  await outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  expect(outbox.of("ses_1")[0]?.waits).toBe(true);
  answers = accept;
  await vi.advanceTimersByTimeAsync(5000);
  vi.useRealTimers();
  expect(requests.map((each) => each.body["text"])).toEqual(["hello", "hello"]);
  expect(outbox.messages.size).toBe(0);
});

test("nobody sees what another person has not sent", async () => {
  answers = () => json({}, 503);
  await outbox.send({ text: "private", files: [] }, "ses_1", OPENING, null);
  outbox.messages.clear();
  me.who = { user: { id: "usr_2" } } as Me;
  outbox.restore();
  expect(outbox.messages.size).toBe(0);
});

test("a session that is there is not opened again", async () => {
  sessions.took({ id: "ses_there", archived: false, active_at: 1 } as SessionView);
  await outbox.send({ text: "hi", files: [] }, "ses_there", OPENING, null);
  expect(requests.map((each) => each.path)).toEqual(["/api/sessions/ses_there/turns"]);
});

test("what is kept and can't be read keeps nothing else from being sent", async () => {
  answers = () => json({}, 503);
  await outbox.send({ text: "hello", files: [] }, "ses_1", OPENING, null);
  outbox.messages.clear();
  localStorage.setItem("outgoing:usr_1:trn_broken", "{");
  outbox.restore(Date.now() + 11 * MINUTE);
  expect(outbox.of("ses_1").map((each) => each.wanted.text)).toEqual(["hello"]);
});

test("whoever leaves takes along what they have not sent, and nobody else's", async () => {
  answers = () => json({}, 503);
  await outbox.send({ text: "mine", files: [] }, "ses_1", OPENING, null);
  localStorage.setItem("outgoing:usr_2:trn_9", "{}");
  outbox.forget("usr_1");
  expect(outbox.messages.size).toBe(0);
  expect(Object.keys(localStorage)).toEqual(["outgoing:usr_2:trn_9"]);
});
