/** When to look anew at what an agent works on. */

import type { OpenSession } from "../state/session.svelte";

/** Changes whenever a tool call has ended: files and processes may be others then. */
export function finished(session: OpenSession): number {
  let ended = 0;
  for (const each of session.calls.values()) if (each.ended_at !== null) ended++;
  return ended;
}

/** Do something every `ms` while the page is seen. What is given back ends it. */
export function repeated(run: () => void, ms: number): () => void {
  const timer = setInterval(() => {
    if (!document.hidden) run();
  }, ms);
  const seen = (): void => {
    if (!document.hidden) run();
  };
  document.addEventListener("visibilitychange", seen);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
