import { expect, test } from "vitest";
import { newId } from "./ids";

test("ids are as the server takes them, and no two are the same", () => {
  const made = Array.from({ length: 1000 }, () => newId("trn"));
  for (const id of made) expect(id).toMatch(/^trn_[0-9a-z]{26}$/);
  expect(new Set(made).size).toBe(1000);
});

test("a later id sorts after an earlier one", () => {
  expect(newId("ses", 1_700_000_000_000) < newId("ses", 1_700_000_000_001)).toBe(true);
});
