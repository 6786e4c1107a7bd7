/** What a person has chosen: kept on the server, so that it is the same in every browser. */

import { call } from "../api/client";
import type { ChangeSettings, SettingsView } from "../api/types";

export type Theme = "system" | "light" | "dark";

const DARK = "(prefers-color-scheme: dark)";

class Settings {
  view: SettingsView | null = $state.raw(null);

  constructor() {
    matchMedia(DARK).addEventListener("change", () => {
      this.show();
    });
  }

  get theme(): Theme {
    const chosen = this.view?.appearance["theme"] ?? localStorage.getItem("theme");
    return chosen === "light" || chosen === "dark" ? chosen : "system";
  }

  async load(): Promise<void> {
    this.view = await call("GET /api/settings");
    this.show();
  }

  async change(change: ChangeSettings): Promise<void> {
    this.view = await call("PATCH /api/settings", { body: change });
    this.show();
  }

  /** One thing of the appearance; the others stay. */
  async setAppearance(name: string, value: unknown): Promise<void> {
    const appearance = { ...this.view?.appearance, [name]: value };
    if (this.view) this.view = { ...this.view, appearance };
    this.show();
    await this.change({ appearance });
  }

  /** Bring the theme to the page. It is remembered here too, for the first paint of the next visit. */
  show(): void {
    const dark = this.theme === "dark" || (this.theme === "system" && matchMedia(DARK).matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    localStorage.setItem("theme", this.theme);
  }
}

export const settings = new Settings();
