/** Whether the server can be reached, as the streams find. */

import type { StreamState } from "../api/stream";

/** A break shorter than this is nobody's business. */
const PATIENCE = 1500;

class Connection {
  isOffline = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wanted = new Set<() => void>();

  /** Told by the stream that is always open. */
  tell(state: StreamState): void {
    if (state === "live" || state === "closed") {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.isOffline = false;
      if (state === "live") this.#back();
    } else if (state === "waiting" && this.#timer === undefined) {
      this.#timer = setTimeout(() => {
        this.isOffline = true;
      }, PATIENCE);
    }
  }

  /** Do it once the server can be reached again. */
  whenBack(run: () => void): void {
    this.#wanted.add(run);
  }

  #back(): void {
    const wanted = [...this.#wanted];
    this.#wanted.clear();
    for (const run of wanted) run();
  }

  /** Try now: everything that waits for the network wakes at this. */
  hurry(): void {
    dispatchEvent(new Event("online"));
  }
}

export const connection = new Connection();
