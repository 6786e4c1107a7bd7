import { expect, test } from "vitest";
import { secretIn } from "./secret";

test("a secret is taken out of the address, and is in no step of the history", () => {
  history.replaceState(null, "", "/sign-in#abc123");
  const steps = history.length;
  expect(secretIn(location, history)).toBe("abc123");
  expect(location.href).not.toContain("abc123");
  expect(location.pathname).toBe("/sign-in");
  expect(history.length).toBe(steps);
});

test("without one there is none, and nothing changes", () => {
  history.replaceState(null, "", "/sign-in");
  expect(secretIn(location, history)).toBeNull();
});
