/** A change on its way to the server: under way, saved, or refused for a reason. */

import { asProblem, type Problem } from "../api/client";
import { t } from "../text/text";
import { announce } from "../ui/announce.svelte";

const SHOWN = 4000;

export class Saving {
  isBusy = $state(false);
  isSaved = $state(false);
  problem: Problem | null = $state.raw(null);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Whether it went well. */
  async run(work: () => Promise<unknown>): Promise<boolean> {
    this.isBusy = true;
    this.isSaved = false;
    this.problem = null;
    try {
      await work();
      this.#saved();
      return true;
    } catch (error) {
      this.problem = asProblem(error);
      return false;
    } finally {
      this.isBusy = false;
    }
  }

  /** What was refused is being put right. */
  forget = (): void => {
    this.problem = null;
  };

  #saved(): void {
    this.isSaved = true;
    announce(t.settings.saved);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isSaved = false;
    }, SHOWN);
  }
}
