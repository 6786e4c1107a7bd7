/** Who may talk over channels, and who waits to be let in: for admins. */

import { call } from "../api/client";
import type { PairingView } from "../api/types";
import { Loaded } from "../lib/loaded.svelte";
import { me } from "./me.svelte";

class Pairings {
  readonly list = new Loaded(async () => (await call("GET /api/pairings")).pairings);

  get waiting(): PairingView[] {
    return this.list.value?.filter((each) => each.state === "pending") ?? [];
  }

  /** There is no event for it: it is read anew whenever someone looks. */
  async look(): Promise<void> {
    if (me.isAdmin) await this.list.load();
  }
}

export const pairings = new Pairings();
