/** Which rewrite of a history the server would take back now. */

import type { Rewrite } from "../api/types";

/** An undo or a clear if it came last and nothing was said since (`spoken` is when something was),
 * or else the latest compaction that still stands. */
export function restorable(rewrites: readonly Rewrite[], spoken: number): number | null {
  const newestFirst = [...rewrites].sort((a, b) => b.epoch - a.epoch);
  const latest = newestFirst[0];
  if (latest?.kind === "undo" || latest?.kind === "clear") {
    return spoken > latest.created_at ? null : latest.epoch;
  }
  const takenBack = new Set(rewrites.map((each) => each.detail.restores));
  const standing = newestFirst.find(
    (each) => ["clear", "compaction"].includes(each.kind) && !takenBack.has(each.epoch),
  );
  return standing?.kind === "compaction" ? standing.epoch : null;
}
