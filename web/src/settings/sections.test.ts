import { expect, test } from "vitest";
import { chosen, offered } from "./sections";

test("users are for admins to see to", () => {
  expect(offered(true).map((each) => each.id)).toContain("users");
  expect(offered(false).map((each) => each.id)).not.toContain("users");
});

test("an address that names no page shows the first", () => {
  expect(chosen("usage", false)?.id).toBe("usage");
  expect(chosen("nothing", true)?.id).toBe("models");
  expect(chosen("users", false)?.id).toBe("models");
});
