import { expect, test } from "vitest";
import { settings } from "./settings";

test("one and many are told apart", () => {
  const { memory, usage } = settings;
  expect(memory.troubled(0, 1)).toBe("1 batch rests: it failed too often");
  expect(memory.troubled(0, 2)).toBe("2 batches rest: they failed too often");
  expect(memory.troubled(2, 0)).toBe("2 batches are tried again after a failure");
  expect(usage.bySessionLead(1)).toBe("The latest session, over its whole life.");
  expect(usage.bySessionLead(2)).toContain("the latest 2 sessions that took the most");
});
