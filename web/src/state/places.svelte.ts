/** The places on channels where the user talks, and the sessions that are current there. */

import { call } from "../api/client";
import type { RouteView } from "../api/types";
import { debounced } from "../lib/debounced";
import { placed } from "../lib/places";

class Places {
  list: RouteView[] = $state.raw([]);
  /** Where a session is talked in, in words; nothing if it is nowhere but here. */
  of(session: string): string {
    const found = this.list.filter((each) => each.session === session);
    return found.map((each) => placed(each.route, each.name)).join(", ");
  }

  named(route: string): string {
    return placed(route, this.list.find((each) => each.route === route)?.name);
  }

  async load(): Promise<void> {
    this.list = (await call("GET /api/routes")).routes;
  }

  /** Something may have changed. If it can't be read, what was known stays. */
  readonly look = debounced(() => {
    void this.load().catch(() => undefined);
  }, 500);
}

export const places = new Places();
