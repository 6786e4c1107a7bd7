/** What the next message is answered by: chosen here for a new chat, and kept with the session then. */

import { asProblem } from "../api/client";
import type { ChangeSession, ChangeSettings, NewMessage } from "../api/types";
import { models } from "../state/models.svelte";
import type { Opening } from "../state/outgoing.svelte";
import type { OpenSession } from "../state/session.svelte";
import { sessions } from "../state/sessions.svelte";
import { settings } from "../state/settings.svelte";
import { toast } from "../ui/toasts.svelte";

export type Effort = NonNullable<NewMessage["effort"]> | "auto";
export type Toolset = NonNullable<ChangeSettings["toolset"]>;

export const EFFORTS: Effort[] = ["auto", "off", "low", "medium", "high"];
export const TOOLSETS: Toolset[] = ["chat", "files", "terminal", "browser", "full"];

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

  toolsetOf(session: OpenSession | null): Toolset {
    const own = session ? session.view?.toolset : this.toolset;
    return known(own) ?? known(settings.view?.toolset) ?? "full";
  }

  async setModel(session: OpenSession | null, model: string): Promise<boolean> {
    if (session) return await changed(session, { model });
    this.model = model;
    return true;
  }

  async setToolset(session: OpenSession | null, toolset: Toolset): Promise<void> {
    if (session) await changed(session, { toolset });
    else this.toolset = toolset;
  }
}

async function changed(session: OpenSession, change: ChangeSession): Promise<boolean> {
  try {
    session.view = await sessions.change(session.id, change);
    return true;
  } catch (error) {
    toast(asProblem(error).message, { kind: "bad" });
    return false;
  }
}

function known(name: string | null | undefined): Toolset | undefined {
  return TOOLSETS.find((each) => each === name);
}

function knownEffort(name: string | null): Effort {
  return EFFORTS.find((each) => each === name) ?? "auto";
}

export const choice = new Choice();
