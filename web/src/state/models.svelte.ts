/** Which models can be asked. */

import { asProblem, call, type Problem } from "../api/client";
import type { ModelList, Offered } from "../api/types";

class Models {
  list: ModelList | null = $state.raw(null);
  /** Why the list could not be read, if it could not. */
  problem: Problem | null = $state.raw(null);

  get offered(): Offered[] {
    return this.list?.models ?? [];
  }

  named(name: string | null): Offered | undefined {
    return this.offered.find((each) => each.name === (name ?? this.list?.default));
  }

  async load(): Promise<void> {
    this.problem = null;
    try {
      this.list = await call("GET /api/models");
    } catch (error) {
      this.problem = asProblem(error);
      throw error;
    }
  }
}

export const models = new Models();
