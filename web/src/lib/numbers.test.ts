import { expect, test } from "vitest";
import { about, bytes, count, dollars, share } from "./numbers";

test("large numbers are said in short, or in full", () => {
  expect(about(950)).toBe("950");
  expect(about(12_480)).toBe("12.5K");
  expect(count(12_480)).toBe("12,480");
});

test("a cost shows digits that say something", () => {
  expect(dollars(0)).toBe("$0.00");
  expect(dollars(1_234_000_000)).toBe("$1.23");
  expect(dollars(4_200_000)).toBe("$0.0042");
  expect(dollars(37_000)).toBe("$0.000037");
});

test("sizes have the unit that keeps them short", () => {
  expect(bytes(0)).toBe("0 bytes");
  expect(bytes(999)).toBe("999 bytes");
  expect(bytes(1_240)).toBe("1.2 kB");
  expect(bytes(48_000_000)).toBe("48 MB");
});

test("a share of nothing is nothing", () => {
  expect(share(21, 50)).toBe("42%");
  expect(share(0, 0)).toBe("0%");
});
