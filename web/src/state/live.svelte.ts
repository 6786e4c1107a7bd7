/** What streams: the parts of an answer that is being given, provisional until a message takes
 * their place. */

import { SvelteMap } from "svelte/reactivity";
import type { Deltas } from "../api/types";

type Delta = Deltas["deltas"][number];

/** The whole of it comes with the result. */
const LONGEST_OUTPUT = 1 << 16;

let made = 0;

/** One part; its text grows. */
export class LivePart {
  text = $state("");
  readonly since = Date.now();
  until: number | null = $state(null);

  constructor(
    readonly kind: "text" | "reasoning" | "tool_call",
    readonly key: string,
    readonly name = "",
  ) {}
}

export class Live {
  parts: LivePart[] = $state.raw([]);
  /** What Roost does meanwhile: it asks again, or another model. */
  notice: string | null = $state(null);
  /** What tools print, by call. It outlives the message that holds the calls. */
  readonly outputs = new SvelteMap<string, string>();
  seq = 0;

  /** `key` names it among all that were streamed here; read anew, it is the same. */
  constructor(
    readonly turn: string,
    readonly attempt: number,
    readonly key = `live${made++}`,
  ) {}

  /** False if something is missing in between. */
  take(run: Deltas): boolean {
    if (run.last_seq <= this.seq) return true;
    if (run.first_seq !== this.seq + 1) return false;
    for (const delta of run.deltas) this.#add(delta);
    this.seq = run.last_seq;
    return true;
  }

  /** The message is there: what was streamed of it is shown no more. */
  settle(): void {
    this.parts = [];
    this.notice = null;
  }

  #add(delta: Delta): void {
    switch (delta.kind) {
      case "text":
      case "reasoning":
        this.#part(delta.kind, delta.kind).text += delta.text;
        break;
      case "tool_call":
        this.#part("tool_call", delta.call, delta.name).text += delta.arguments;
        break;
      case "tool_output":
        this.outputs.set(
          delta.call,
          ((this.outputs.get(delta.call) ?? "") + delta.text).slice(-LONGEST_OUTPUT),
        );
        break;
      case "notice":
        this.notice = delta.text;
        return;
    }
    this.notice = null;
  }

  /** The part that is being written, or a new one if something else was before. */
  #part(kind: LivePart["kind"], named: string, name = ""): LivePart {
    const calls = kind === "tool_call";
    const last = calls ? this.parts.find((each) => each.key === named) : this.parts.at(-1);
    if (last?.kind === kind) return last;
    const previous = this.parts.at(-1);
    if (previous) previous.until ??= Date.now();
    const before = this.parts.filter((each) => each.kind === kind).length;
    const part = new LivePart(kind, calls ? named : `${kind}${before}`, name);
    this.parts = [...this.parts, part];
    return part;
  }
}
