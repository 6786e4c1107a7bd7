/** What a person asked for, where nothing on the page but a toast can say that it failed. */

import { asProblem } from "../api/client";
import { toast } from "../ui/toasts.svelte";

/** What came of it; undefined if it failed. */
export async function attempt<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    toast(asProblem(error).message, { kind: "bad" });
    return undefined;
  }
}

/** Whether it was done. */
export async function succeeded(work: Promise<unknown>): Promise<boolean> {
  return (await attempt(work.then(() => true))) ?? false;
}
