/** Whether a turn is under way, as the buttons of all messages have to know: a moment later, for they
 * are many and the first word of an answer comes before them. The server refuses what comes between. */

import { createContext, untrack } from "svelte";
import { whenIdle } from "../lib/idle";

export class Busy {
  now: boolean = $state(false);

  constructor(current: () => boolean) {
    this.now = untrack(current);
    const latest = $derived(current());
    $effect(() => {
      const now = latest;
      return whenIdle(() => {
        this.now = now;
      });
    });
  }
}

export const [getBusy, setBusy] = createContext<Busy>();
