/** Parts of the app that come when they are wanted. */

import { reach } from "../api/client";

type Load<T> = () => Promise<T>;

/** A part, or why it did not come. A browser may keep that one did not come, and ask no more: then
 * `anew` is called, once the server is there. */
export async function part<T>(load: Load<T>, anew?: () => void): Promise<T> {
  try {
    return await load();
  } catch (error) {
    await reach("/", { cache: "no-store" });
    anew?.();
    throw error;
  }
}

/** Have them here before someone wants them: the server may be away then. One after the other, as
 * nobody waits for them. */
export async function fetchAhead(parts: Load<unknown>[]): Promise<void> {
  for (const load of parts) {
    try {
      await load();
    } catch {
      // It is asked for again when it is wanted, and said then.
      return;
    }
  }
}
