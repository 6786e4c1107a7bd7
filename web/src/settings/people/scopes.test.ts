import { expect, test } from "vitest";
import { purposes, scopesFor } from "./scopes";

test("members hand on no more than they have", () => {
  expect(purposes(false).flatMap(scopesFor)).toEqual(["read", "chat"]);
});

test("an admin's token can chat too, and one for metrics can nothing else", () => {
  expect(scopesFor("admin")).toEqual(["chat", "admin"]);
  expect(purposes(true)).toContain("metrics");
  expect(scopesFor("metrics")).toEqual(["metrics"]);
});
