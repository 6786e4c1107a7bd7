import { expect, test } from "vitest";
import type { Rewrite } from "../api/types";
import { restorable } from "./rewrites";

const BEFORE = 0;

function rewrite(epoch: number, kind: Rewrite["kind"], restores?: number): Rewrite {
  const detail = restores === undefined ? {} : { restores };
  return { epoch, kind, revision: epoch, detail, created_at: epoch };
}

test("an undo can be taken back until something is said", () => {
  const history = [rewrite(1, "compaction"), rewrite(2, "undo")];
  expect(restorable(history, BEFORE)).toBe(2);
  expect(restorable(history, 3)).toBeNull();
});

test("one that was taken back leaves the compaction before it", () => {
  const history = [rewrite(1, "compaction"), rewrite(2, "undo"), rewrite(3, "restore", 2)];
  expect(restorable(history, 9)).toBe(1);
});

test("a compaction can be taken back later too, but not behind a clear", () => {
  expect(restorable([rewrite(1, "compaction"), rewrite(2, "edit")], 9)).toBe(1);
  expect(restorable([rewrite(1, "compaction"), rewrite(2, "clear"), rewrite(3, "edit")], 9)).toBe(
    null,
  );
  expect(restorable([], 9)).toBeNull();
});
