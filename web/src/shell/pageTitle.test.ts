import { expect, test } from "vitest";
import { pageTitle } from "./pageTitle";

test("the tab says what waits for an answer before what is new", () => {
  expect(pageTitle(null, 0, false)).toBe("Roost");
  expect(pageTitle("Trees", 0, true)).toBe("• Trees - Roost");
  expect(pageTitle("Trees", 2, true)).toBe("(2) Trees - Roost");
});
