/** Which sets of tools a session can have, and which it has if nobody chose. */

import { call } from "../api/client";
import type { ToolsetView } from "../api/types";
import { t } from "../text/text";

export type Toolset = ToolsetView["name"];

class Toolsets {
  list: ToolsetView[] = $state.raw([]);

  get names(): Toolset[] {
    return this.list.map((each) => each.name);
  }

  get standard(): Toolset | undefined {
    return this.list.find((each) => each.default)?.name;
  }

  /** A set of that name, if there is one. */
  named(name: string | null | undefined): Toolset | undefined {
    return this.names.find((each) => each === name);
  }

  /** What a person calls it; one that nobody knows keeps its name. */
  title(name: string): string {
    const known = this.named(name);
    return known ? t.common.toolsets[known] : name;
  }

  async load(): Promise<void> {
    this.list = (await call("GET /api/tools")).toolsets;
  }
}

export const toolsets = new Toolsets();
