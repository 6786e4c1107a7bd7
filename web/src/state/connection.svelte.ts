/** Whether the server can be reached, as the streams find. */

import type { StreamState } from "../api/stream";

/** A break shorter than this is nobody's business. */
const PATIENCE = 1500;

class Connection {
  isOffline = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Told by the stream that is always open. */
  tell(state: StreamState): void {
    if (state === "live" || state === "closed") {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.isOffline = false;
    } else if (state === "waiting" && this.#timer === undefined) {
      this.#timer = setTimeout(() => {
        this.isOffline = true;
      }, PATIENCE);
    }
  }

  /** Try now: everything that waits for the network wakes at this. */
  hurry(): void {
    dispatchEvent(new Event("online"));
  }
}

export const connection = new Connection();
