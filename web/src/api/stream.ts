/** Server-sent events over fetch: they come back after every break, from where they were. */

import { Problem, asProblem, reach } from "./client";

const SHORTEST_PAUSE = 300;
const LONGEST_PAUSE = 10_000;
/** The server gives a sign of life every 15 seconds. */
const SILENCE = 40_000;

export type StreamState = "connecting" | "live" | "waiting" | "refused" | "closed";

type Options<E> = {
  /** Where to connect, given the id of the last event that came. */
  address: (last: string | null) => string;
  take: (event: E) => void;
  /** `problem` says why it was refused: then it does not come back by itself. */
  changed?: (state: StreamState, problem?: Problem) => void;
};

/** Those that wait for the server: one that finds it wakes the others. */
const asleep = new Set<() => void>();

export class Stream<E extends { kind: string }> {
  #options: Options<E>;
  #last: string | null = null;
  #abort: AbortController | null = null;
  #wake: (() => void) | null = null;
  #pause = SHORTEST_PAUSE;

  constructor(options: Options<E>) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#abort !== null;
  }

  open(): void {
    if (this.#abort) return;
    this.#abort = new AbortController();
    void this.#run(this.#abort.signal);
  }

  close(): void {
    this.#abort?.abort();
    this.#abort = null;
    this.#wake?.();
    this.#options.changed?.("closed");
  }

  /** Begin anew: what is shown is not what the server has. */
  restart(): void {
    this.close();
    this.#last = null;
    this.open();
  }

  /** Try now rather than later. */
  hurry(): void {
    this.#wake?.();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#options.changed?.("connecting");
      try {
        await this.#once(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (isFinal(error)) {
          this.#abort = null;
          this.#options.changed?.("refused", asProblem(error));
          return;
        }
      }
      if (signal.aborted) return;
      this.#options.changed?.("waiting");
      await this.#sleep(this.#pause * (0.75 + Math.random() / 2));
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    }
  }

  async #once(signal: AbortSignal): Promise<void> {
    const silence = new Silence(signal);
    try {
      const response = await reach(this.#options.address(this.#last), {
        signal: silence.signal,
        headers: { Accept: "text/event-stream" },
      });
      this.#pause = SHORTEST_PAUSE;
      this.#options.changed?.("live");
      for (const wake of [...asleep]) wake();
      const parser = new Parser();
      const decoder = new TextDecoder();
      const reader = response.body!.getReader();
      for (;;) {
        silence.broken();
        const { done, value } = await reader.read();
        if (done) return;
        for (const { id, data } of parser.push(decoder.decode(value, { stream: true }))) {
          if (signal.aborted) return;
          if (id !== null) this.#last = id;
          this.#options.take(JSON.parse(data) as E);
        }
      }
    } finally {
      silence.over();
    }
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const woken = (): void => {
        clearTimeout(timer);
        asleep.delete(woken);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(woken, milliseconds);
      this.#wake = woken;
      asleep.add(woken);
    });
  }
}

/** What is refused for a reason stays refused; a server that is about to stop or start does not. */
function isFinal(error: unknown): boolean {
  return error instanceof Problem && error.status >= 400 && error.status < 500;
}

/** Ends a connection on which nothing comes any more. */
class Silence {
  #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop = (): void => {
    this.#controller.abort();
  };

  constructor(private outer: AbortSignal) {
    outer.addEventListener("abort", this.#stop);
    this.broken();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  broken(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#stop, SILENCE);
  }

  over(): void {
    clearTimeout(this.#timer);
    this.outer.removeEventListener("abort", this.#stop);
  }
}

type Told = { id: string | null; data: string };

/** Cuts a stream of text into events; what is incomplete waits for more. */
export class Parser {
  #rest = "";

  push(chunk: string): Told[] {
    const events = (this.#rest + chunk).split("\n\n");
    this.#rest = events.pop()!;
    return events.map(told).filter((each) => each !== null);
  }
}

function told(event: string): Told | null {
  let id: string | null = null;
  let data: string | null = null;
  for (const line of event.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  return data === null ? null : { id, data };
}
