/** What the next message is answered by: chosen here for a new chat, and kept with the session then. */

import type { ChangeSession, NewMessage } from "../api/types";
import { attempt } from "../lib/attempt";
import { models } from "../state/models.svelte";
import type { Opening } from "../state/outgoing.svelte";
import type { OpenSession } from "../state/session.svelte";
import { sessions } from "../state/sessions.svelte";
import { settings } from "../state/settings.svelte";
import { type Toolset, toolsets } from "../state/toolsets.svelte";

export type Effort = NonNullable<NewMessage["effort"]> | "auto";

export const EFFORTS: Effort[] = ["auto", "off", "low", "medium", "high"];

const KEPT = "effort";

class Choice {
  /** For a new chat; null leaves it to the settings. */
  model: string | null = $state(null);
  toolset: Toolset | null = $state(null);
  #effort: Effort = $state(knownEffort(localStorage.getItem(KEPT)));

  get effort(): Effort {
    return this.#effort;
  }

  set effort(chosen: Effort) {
    this.#effort = chosen;
    localStorage.setItem(KEPT, chosen);
  }

  get opening(): Opening {
    return { model: this.model, toolset: this.toolset, project: null };
  }

  /** The next new chat begins with what the settings say. */
  reset(): void {
    this.model = null;
    this.toolset = null;
  }

  modelOf(session: OpenSession | null): string | null {
    const own = session ? session.view?.model : this.model;
    return own ?? settings.view?.model ?? models.list?.default ?? null;
  }

  /** Undefined as long as the server has not said what there is. */
  toolsetOf(session: OpenSession | null): Toolset | undefined {
    const own = session ? session.view?.toolset : this.toolset;
    return toolsets.named(own ?? settings.view?.toolset) ?? toolsets.standard;
  }

  async setModel(session: OpenSession | null, model: string): Promise<boolean> {
    if (session) return await changed(session, { model });
    this.model = model;
    return true;
  }

  async setToolset(session: OpenSession | null, toolset: Toolset): Promise<boolean> {
    if (session) return await changed(session, { toolset });
    this.toolset = toolset;
    return true;
  }
}

async function changed(session: OpenSession, change: ChangeSession): Promise<boolean> {
  const view = await attempt(sessions.change(session.id, change));
  if (view) session.view = view;
  return view !== undefined;
}

function knownEffort(name: string | null): Effort {
  return EFFORTS.find((each) => each === name) ?? "auto";
}

export const choice = new Choice();
