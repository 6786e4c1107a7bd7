import { afterEach, expect, test, vi } from "vitest";
import { Problem } from "./client";
import { Parser, Stream, type StreamState } from "./stream";

type Event = { kind: string; n?: number };

/** A server whose connections the test holds in its hands. */
class Server {
  asked: string[] = [];
  #waiting: ((response: Response) => void)[] = [];
  #asked: (() => void)[] = [];

  constructor() {
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
      this.asked.push(url);
      return new Promise<Response>((resolve, reject) => {
        init.signal?.addEventListener("abort", () => {
          reject(new DOMException("Aborted", "AbortError"));
        });
        this.#waiting.push(resolve);
        this.#asked.shift()?.();
      });
    });
  }

  async connection(): Promise<(response: Response) => void> {
    if (!this.#waiting.length) {
      await new Promise<void>((resolve) => this.#asked.push(resolve));
    }
    return this.#waiting.shift()!;
  }
}

function stream(text: string, { ends = true } = {}): Response {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      if (ends) controller.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
}

function followed(): {
  stream: Stream<Event>;
  seen: Event[];
  states: StreamState[];
  said: Problem[];
} {
  const seen: Event[] = [];
  const states: StreamState[] = [];
  const said: Problem[] = [];
  const made = new Stream<Event>({
    address: (last) => (last ? `/events?after=${last}` : "/events"),
    take: (event) => seen.push(event),
    changed: (state, problem) => {
      states.push(state);
      if (problem) said.push(problem);
    },
  });
  return { stream: made, seen, states, said };
}

afterEach(() => {
  vi.unstubAllGlobals();
});

test("an event is told once it is whole, wherever it is cut", () => {
  const text =
    'retry: 1500\n\nid: 1.2\nevent: a\ndata: {"kind":"a"}\n\n:\n\nevent: b\ndata: {}\n\n';
  for (let at = 0; at <= text.length; at++) {
    const parser = new Parser();
    const told = [...parser.push(text.slice(0, at)), ...parser.push(text.slice(at))];
    expect(told).toEqual([
      { id: "1.2", data: '{"kind":"a"}' },
      { id: null, data: "{}" },
    ]);
  }
});

test("it comes back from where it was", async () => {
  const server = new Server();
  const { stream: one, seen, states } = followed();
  one.open();
  (await server.connection())(stream('id: 7.1\ndata: {"kind":"a","n":1}\n\ndata: {"kind":"cut'));
  (await server.connection())(stream('id: 7.2\ndata: {"kind":"a","n":2}\n\n', { ends: false }));
  await vi.waitFor(() => {
    expect(seen.map((each) => each.n)).toEqual([1, 2]);
  });
  expect(server.asked).toEqual(["/events", "/events?after=7.1"]);
  expect(states).toEqual(["connecting", "live", "waiting", "connecting", "live"]);
  one.close();
});

test("begun anew, it asks for everything", async () => {
  const server = new Server();
  const { stream: one, seen } = followed();
  one.open();
  (await server.connection())(stream('id: 3\ndata: {"kind":"a"}\n\n', { ends: false }));
  await vi.waitFor(() => {
    expect(seen).toHaveLength(1);
  });
  one.restart();
  await server.connection();
  expect(server.asked).toEqual(["/events", "/events"]);
  one.close();
});

test("a refusal is final, and says why", async () => {
  const server = new Server();
  const { stream: one, states, said } = followed();
  one.open();
  const body = JSON.stringify({
    type: "gone",
    title: "Not found",
    status: 404,
    detail: "It is gone.",
  });
  (await server.connection())(new Response(body, { status: 404 }));
  await vi.waitFor(() => {
    expect(states.at(-1)).toBe("refused");
  });
  expect(said[0]).toMatchObject({ status: 404, detail: "It is gone." });
  expect(one.isOpen).toBe(false);
});

test("a server that is starting is asked again", async () => {
  const server = new Server();
  const { stream: one, states } = followed();
  one.open();
  (await server.connection())(new Response("", { status: 503 }));
  await server.connection();
  expect(states).toEqual(["connecting", "waiting", "connecting"]);
  one.close();
});

test("a connection on which nothing comes any more is given up", async () => {
  vi.useFakeTimers();
  try {
    const server = new Server();
    const { stream: one } = followed();
    one.open();
    await server.connection();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.asked.length).toBeGreaterThan(1);
    one.close();
  } finally {
    vi.useRealTimers();
  }
});

test("a stream that finds the server wakes those that wait for it", async () => {
  const server = new Server();
  const [one, two] = [followed(), followed()];
  one.stream.open();
  (await server.connection())(new Response(null, { status: 503 }));
  await vi.waitUntil(() => one.states.at(-1) === "waiting", { interval: 1 });
  two.stream.open();
  (await server.connection())(stream("", { ends: false }));
  // By itself it would wait for a fifth of a second at least.
  await vi.waitUntil(() => one.states.at(-1) === "connecting", { interval: 1, timeout: 100 });
  one.stream.close();
  two.stream.close();
});
