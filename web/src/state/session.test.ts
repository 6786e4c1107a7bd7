import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type {
  ChangedView,
  Deltas,
  MessageView,
  SessionView,
  SnapshotView,
  TurnView,
} from "../api/types";
import { OpenSession } from "./session.svelte";

const SESSION = "ses_1";
const TURN = "trn_1";

function message(position: number, role: MessageView["role"], text: string): MessageView {
  return {
    id: `msg_${position}`,
    role,
    parts: [{ kind: "text", text }],
    turn: TURN,
    partial: false,
    pinned: false,
    position,
    created_at: 0,
  };
}

function turn(state: TurnView["state"], id = TURN): TurnView {
  return { id, state, parts: [] as TurnView["parts"] } as TurnView;
}

function session(epoch: number): SessionView {
  return { id: SESSION, epoch, revision: 1 } as SessionView;
}

function snapshot(messages: MessageView[], more: Partial<SnapshotView> = {}): SnapshotView {
  const epoch = more.session?.epoch ?? 0;
  return {
    kind: "snapshot",
    cursor: { epoch, revision: 1 },
    session: session(epoch),
    messages,
    older: false,
    queue: [],
    turn: null,
    turns: [],
    calls: [],
    approvals: [],
    deltas: [],
    ...more,
  };
}

function changed(events: ChangedView["events"], more: Partial<ChangedView> = {}): ChangedView {
  return { kind: "changed", cursor: { epoch: 0, revision: 2 }, at: 0, events, ...more };
}

const began = { kind: "attempt", turn: TURN, step: 1, attempt: 1 } as const;
const at = { epoch: 0, revision: 2, turn: TURN, attempt: 1 };

function streamed(seq: number, ...deltas: Deltas["deltas"]): object {
  const run = { first_seq: seq, last_seq: seq + deltas.length - 1, deltas };
  return { kind: "streamed", cursor: { ...at, seq: run.last_seq }, deltas: run };
}

/** The server's end of the stream: each connection is one. */
let connections: ReadableStreamDefaultController<Uint8Array>[] = [];
let page: { messages: MessageView[]; older: boolean };
let open: OpenSession;

beforeEach(() => {
  connections = [];
  vi.stubGlobal("fetch", (url: string) => {
    if (url.includes("/messages")) {
      return Promise.resolve(Response.json({ ...page, turns: [], calls: [], approvals: [] }));
    }
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        connections.push(controller);
      },
    });
    return Promise.resolve(new Response(body));
  });
  open = new OpenSession(SESSION);
  open.follow();
});

afterEach(() => {
  open.leave();
  vi.unstubAllGlobals();
});

function send(...events: object[]): void {
  const data = events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
  connections.at(-1)?.enqueue(new TextEncoder().encode(data));
}

async function tell(...events: object[]): Promise<void> {
  // Events are applied with the frame after they came; that is over when the last of them shows.
  const last = { kind: "noticed", cursor: at, text: String(Math.random()) };
  send(...events, last);
  await vi.waitFor(() => {
    expect(open.notice).toBe(last.text);
  });
}

const texts = (): string[] =>
  open.messages.map((each) => (each.parts[0]?.kind === "text" ? each.parts[0].text : ""));
const live = (): string[] => open.live?.parts.map((each) => `${each.kind}: ${each.text}`) ?? [];

test("an answer streams, and its message takes the place of what was streamed", async () => {
  await tell(
    snapshot([message(1, "user", "Hello")]),
    changed([began], { turns: [turn("running")] }),
    streamed(1, { kind: "reasoning", text: "Hm" }),
    streamed(2, { kind: "text", text: "Hel" }, { kind: "text", text: "lo" }),
  );
  expect(live()).toEqual(["reasoning: Hm", "text: Hello"]);
  expect(open.live?.parts[0]?.until).not.toBeNull();
  const key = open.live?.key;
  await tell(
    changed([{ kind: "message", message: "msg_2" }], {
      messages: [message(2, "assistant", "Hello")],
    }),
  );
  expect(live()).toEqual([]);
  expect(texts()).toEqual(["Hello", "Hello"]);
  expect(open.streamed.get("msg_2")).toBe(key);
});

test("the first word is there before any frame, with what was told before it", async () => {
  await tell(snapshot([]));
  vi.stubGlobal("requestAnimationFrame", () => 0);
  const runs = { kind: "turn", turn: TURN, state: "running" } as const;
  send(
    changed([runs, began], { turns: [turn("running")] }),
    streamed(1, { kind: "text", text: "One" }),
    streamed(2, { kind: "text", text: " two" }),
  );
  await vi.waitFor(() => {
    expect(live()).toEqual(["text: One"]);
  });
  expect(open.current?.id).toBe(TURN);
});

test("what is told twice counts once", async () => {
  await tell(
    snapshot([]),
    changed([began]),
    streamed(1, { kind: "text", text: "Once" }),
    streamed(1, { kind: "text", text: "Once" }),
  );
  expect(live()).toEqual(["text: Once"]);
});

test("a gap in what streams is closed by beginning anew", async () => {
  await tell(snapshot([]), changed([began]));
  send(streamed(5, { kind: "text", text: "lost" }));
  await vi.waitFor(() => {
    expect(connections).toHaveLength(2);
  });
  const deltas = [{ first_seq: 1, last_seq: 5, deltas: [{ kind: "text", text: "All" } as const] }];
  await tell(snapshot([], { cursor: { ...at, seq: 5 }, deltas }));
  expect(live()).toEqual(["text: All"]);
});

test("a stream that is read anew keeps its name, so that nothing is drawn anew", async () => {
  await tell(snapshot([]), changed([began]), streamed(1, { kind: "text", text: "Al" }));
  const key = open.live?.key;
  const deltas = [{ first_seq: 1, last_seq: 2, deltas: [{ kind: "text", text: "All" } as const] }];
  await tell(snapshot([], { cursor: { ...at, seq: 2 }, deltas }));
  expect(open.live?.key).toBe(key);
  expect(live()).toEqual(["text: All"]);
});

test("an attempt that is rewound disappears", async () => {
  await tell(snapshot([]), changed([began]), streamed(1, { kind: "text", text: "Wrong" }));
  await tell({ kind: "rewound", cursor: at, turn: TURN, attempt: 1, seq: 0 });
  expect(live()).toEqual([]);
});

test("what tools print outlives the message that called them", async () => {
  await tell(
    snapshot([]),
    changed([began]),
    streamed(1, { kind: "tool_call", call: "call_1", name: "echo", arguments: "{}" }),
    changed([], { messages: [message(1, "assistant", "")] }),
    streamed(2, { kind: "tool_output", call: "call_1", text: "line" }),
  );
  expect(live()).toEqual([]);
  expect(open.live?.outputs.get("call_1")).toBe("line");
});

test("a turn that ends streams no more, and what waits begins", async () => {
  await tell(
    snapshot([], { queue: [turn("queued", "trn_2")] }),
    changed([began], { turns: [turn("running")] }),
  );
  expect(open.current?.id).toBe(TURN);
  expect(open.queue.map((each) => each.id)).toEqual(["trn_2"]);
  await tell(
    changed([{ kind: "turn", turn: TURN, state: "completed" }], {
      turns: [turn("completed"), turn("running", "trn_2")],
    }),
  );
  expect(open.live).toBeNull();
  expect(open.current?.id).toBe("trn_2");
  expect(open.queue).toEqual([]);
});

test("older pages come before what is known, and stay when a snapshot meets them", async () => {
  const newest = Array.from({ length: 50 }, (_, n) => message(100 + n, "user", `${n}`));
  await tell(snapshot(newest, { older: true }));
  expect(open.hasOlder).toBe(true);
  // A page may be short and yet not be the last.
  page = { messages: [message(99, "user", "old")], older: true };
  await open.older();
  expect(open.hasOlder).toBe(true);
  page = { messages: [message(98, "user", "older")], older: false };
  await open.older();
  expect(open.messages).toHaveLength(52);
  expect(open.hasOlder).toBe(false);
  await tell(snapshot(newest.slice(10)));
  expect(texts().slice(0, 3)).toEqual(["older", "old", "0"]);
});

test("after a long break nothing is missing in between", async () => {
  await tell(snapshot([message(1, "user", "long ago")]));
  const newest = Array.from({ length: 50 }, (_, n) => message(100 + n, "user", `${n}`));
  await tell(snapshot(newest, { older: true }));
  expect(open.messages[0]?.position).toBe(100);
  expect(open.hasOlder).toBe(true);
});

test("a rewritten history is read anew: what it replaced is not shown", async () => {
  const failed = { turns: [turn("failed", "trn_0")] };
  await tell(snapshot([message(1, "user", "a"), message(2, "assistant", "b")], failed));
  expect(open.turns.size).toBe(1);
  const rewrite = changed([{ kind: "rewrite", epoch: 1, reason: "compaction" }], {
    session: session(1),
  });
  const data = `data: ${JSON.stringify(rewrite)}\n\n`;
  connections.at(-1)?.enqueue(new TextEncoder().encode(data));
  await vi.waitFor(() => {
    expect(connections).toHaveLength(2);
  });
  await tell(snapshot([message(2, "note", "summary")], { session: session(1) }));
  expect(texts()).toEqual(["summary"]);
  expect(open.turns.size).toBe(0);
});

test("a session that is deleted is gone", async () => {
  await tell(snapshot([]));
  const end = `data: ${JSON.stringify({ kind: "end", reason: "gone" })}\n\n`;
  connections.at(-1)?.enqueue(new TextEncoder().encode(end));
  await vi.waitFor(() => {
    expect(open.standing).toBe("gone");
  });
});
