/** Something that is read from the server when a page wants it. */

import { asProblem, type Problem } from "../api/client";
import { connection } from "../state/connection.svelte";

export class Loaded<T> {
  /** Undefined until it is there; what was there stays while it is read anew. */
  value: T | undefined = $state.raw();
  problem: Problem | null = $state.raw(null);
  isLoading = $state(false);
  #read: () => Promise<T>;
  #asked = 0;

  constructor(read: () => Promise<T>) {
    this.#read = read;
  }

  /** Of several at once the last one counts. */
  load = async (): Promise<void> => {
    const asked = ++this.#asked;
    this.isLoading = true;
    try {
      const value = await this.#read();
      if (asked !== this.#asked) return;
      this.value = value;
      this.problem = null;
    } catch (error) {
      if (asked === this.#asked) this.#failed(asProblem(error));
    } finally {
      if (asked === this.#asked) this.isLoading = false;
    }
  };

  #failed(problem: Problem): void {
    this.problem = problem;
    if (problem.isOffline) connection.whenBack(this.#again);
  }

  /** It may have been read meanwhile, or be wanted no more. */
  #again = (): void => {
    if (this.problem?.isOffline) void this.load();
  };

  /** Begin anew, as if nothing had been read. */
  clear(): void {
    this.#asked++;
    this.value = undefined;
    this.problem = null;
    this.isLoading = false;
  }
}
