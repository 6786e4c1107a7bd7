import { expect, test } from "vitest";
import { Reader } from "./reader";

test("a reader is told whole sentences, and not too often", () => {
  const reader = new Reader();
  expect(reader.next("One sentence. And a ha", 10_000)).toBe("One sentence.");
  expect(reader.next("One sentence. And a half. More", 11_000)).toBeNull();
  expect(reader.next("One sentence. And a half. More", 16_000)).toBe("And a half.");
  expect(reader.rest("One sentence. And a half. More", 16_100)).toBe("More");
  expect(reader.rest("One sentence. And a half. More", 16_200)).toBeNull();
});

test("a reader hears no signs and no code, and never a whole book", () => {
  const reader = new Reader();
  expect(reader.rest("**Bold** `x`\n```py\ncode()\n```\nEnd", 0)).toBe("Bold x End");
  expect(new Reader().rest("word ".repeat(1000), 0)?.length).toBeLessThan(410);
});
