/** What a person has chosen: kept on the server, so that it is the same in every browser. */

import { call } from "../api/client";
import type { ChangeSettings, SettingsView } from "../api/types";

export type Theme = "system" | "light" | "dark";

const DARK = "(prefers-color-scheme: dark)";

class Settings {
  view: SettingsView | null = $state.raw(null);
  /** As the server has them; `view` is ahead while a change is on its way. */
  #kept: SettingsView | null = null;

  constructor() {
    matchMedia(DARK).addEventListener("change", () => {
      this.show();
    });
  }

  get theme(): Theme {
    const chosen = this.view ? this.view.appearance["theme"] : localStorage.getItem("theme");
    return chosen === "light" || chosen === "dark" ? chosen : "system";
  }

  async load(): Promise<void> {
    this.#take(await call("GET /api/settings"));
  }

  async change(change: ChangeSettings): Promise<void> {
    this.#take(await call("PATCH /api/settings", { body: change }));
  }

  /** One thing of the appearance; the others stay. It is seen at once, and goes if it can't be kept. */
  async setAppearance(name: string, value: unknown): Promise<void> {
    const appearance = { ...this.view?.appearance, [name]: value };
    if (this.view) this.view = { ...this.view, appearance };
    this.show();
    try {
      await this.change({ appearance });
    } catch (error) {
      this.#take(this.#kept);
      throw error;
    }
  }

  /** Bring the theme to the page. It is remembered here too, for the first paint of the next visit. */
  show(): void {
    const dark = this.theme === "dark" || (this.theme === "system" && matchMedia(DARK).matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    localStorage.setItem("theme", this.theme);
  }

  #take(view: SettingsView | null): void {
    this.#kept = view;
    this.view = view;
    this.show();
  }
}

export const settings = new Settings();
