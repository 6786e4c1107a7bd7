/** Which models can be asked. */

import { call } from "../api/client";
import type { ModelList, Offered } from "../api/types";

class Models {
  list: ModelList | null = $state.raw(null);

  get offered(): Offered[] {
    return this.list?.models ?? [];
  }

  named(name: string | null): Offered | undefined {
    return this.offered.find((each) => each.name === (name ?? this.list?.default));
  }

  async load(): Promise<void> {
    this.list = await call("GET /api/models");
  }
}

export const models = new Models();
