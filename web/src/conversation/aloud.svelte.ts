/** Tells a screen reader of an answer while it comes: by sentences, and not too often. */

import type { OpenSession } from "../state/session.svelte";
import { t } from "../text/text";
import { announce } from "../ui/announce.svelte";
import { Reader } from "./reader";
import { textOf } from "./turns";

const OFTEN = 1000;

export class Aloud {
  #reader = new Reader();
  #turn: string | null = null;

  constructor(session: () => OpenSession) {
    $effect(() => {
      const { live, current } = session();
      if (!live || !current) {
        this.#end(session());
        return;
      }
      this.#turn = current.id;
      // What streams is looked at by the clock: to follow every word would cost as much as to draw it.
      const timer = setInterval(() => {
        const text = live.parts.filter((each) => each.kind === "text").map((each) => each.text);
        const said = this.#reader.next(text.join("\n\n"), Date.now());
        if (said) announce(said);
      }, OFTEN);
      return () => {
        clearInterval(timer);
      };
    });
  }

  #end(session: OpenSession): void {
    const turn = this.#turn ? session.turns.get(this.#turn) : undefined;
    const reader = this.#reader;
    if (!turn || turn.state === "waiting") return;
    this.#turn = null;
    this.#reader = new Reader();
    if (turn.state === "failed") announce(t.conversation.announced.failed);
    else if (turn.state !== "completed") announce(t.conversation.announced.stopped);
    else {
      const last = session.messages.findLast((each) => each.role === "assistant");
      const rest = last ? reader.rest(textOf(last), Date.now()) : null;
      if (rest) announce(rest);
    }
  }
}
