import { expect, test, vi } from "vitest";
import type { SessionView } from "../api/types";
import { SessionList, sessions } from "./sessions.svelte";

function session(n: number, more: Partial<SessionView> = {}): SessionView {
  return { id: `ses_${n}`, active_at: n, archived: false, ...more } as SessionView;
}

/** A server with so many sessions, the newest last. */
function serve(all: SessionView[]): string[] {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    const query = new URL(url, "http://roost").searchParams;
    const after = Number(query.get("after_at") ?? Infinity);
    const found = all
      .filter((each) => each.active_at < after)
      .sort((a, b) => b.active_at - a.active_at)
      .slice(0, Number(query.get("limit")));
    return Promise.resolve(Response.json({ sessions: found }));
  });
  return asked;
}

const ids = (list: SessionList): string[] => list.sessions.map((each) => each.id);

test("pages are read one after the other until there are no more", async () => {
  const asked = serve(Array.from({ length: 230 }, (_, n) => session(n)));
  const list = new SessionList(false);
  while (!list.isWhole) await list.more();
  expect(list.sessions).toHaveLength(230);
  expect(ids(list)[0]).toBe("ses_229");
  expect(asked).toHaveLength(3);
});

test("a session that changes moves to its place, once", async () => {
  serve([session(1), session(2), session(3)]);
  const list = new SessionList(false);
  await list.more();
  list.take(session(1, { active_at: 9 }));
  expect(ids(list)).toEqual(["ses_1", "ses_3", "ses_2"]);
});

test("one that was archived leaves, and one that comes back is there", async () => {
  serve([session(1), session(2)]);
  const list = new SessionList(false);
  await list.more();
  list.take(session(2, { archived: true }));
  expect(ids(list)).toEqual(["ses_1"]);
  list.take(session(2));
  expect(ids(list)).toEqual(["ses_2", "ses_1"]);
});

test("after a break what was deleted meanwhile is gone", async () => {
  const all = [session(1), session(2), session(3)];
  serve(all);
  const list = new SessionList(false);
  await list.more();
  all.splice(1, 1);
  await list.refresh();
  expect(ids(list)).toEqual(["ses_3", "ses_1"]);
});

test("one from far back is known, and leaves no gap before it", async () => {
  const all = Array.from({ length: 230 }, (_, n) => session(n));
  serve(all);
  const list = new SessionList(false);
  await list.more();
  list.take(session(3, { pinned: true }));
  while (!list.isWhole) await list.more();
  expect(list.sessions).toHaveLength(230);
});

test("a list that could not be read anew says why, and keeps what it had", async () => {
  sessions.took(session(1));
  vi.stubGlobal("fetch", () =>
    Promise.resolve(Response.json({ title: "Busy", detail: "Try again." }, { status: 503 })),
  );
  await sessions.refresh();
  expect(sessions.problem?.detail).toBe("Try again.");
  expect(ids(sessions.open)).toEqual(["ses_1"]);
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ sessions: [], approvals: [] })));
  await sessions.refresh();
  expect(sessions.problem).toBeNull();
  expect(sessions.isLoaded).toBe(true);
});
