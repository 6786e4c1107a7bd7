import { expect, test } from "vitest";
import { codeOf, isLocal } from "./qr";

test("a code has a border, and its three corners", () => {
  const { size, path } = codeOf("https://roost.example/sign-in#secret");
  const dark = new Set(path.match(/M\d+ \d+/g));
  for (const [x, y] of [
    [2, 2],
    [size - 3, 2],
    [2, size - 3],
  ])
    expect(dark).toContain(`M${x} ${y}`);
  expect(dark).not.toContain(`M${size - 3} ${size - 3}`);
  expect([...dark].some((each) => each.startsWith("M0 ") || each.endsWith(" 1"))).toBe(false);
});

test("names that mean this machine only are known", () => {
  for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "roost.localhost"])
    expect(isLocal(host), host).toBe(true);
  for (const host of ["roost.example", "192.168.1.4", "localhost.example", "100.64.0.1"])
    expect(isLocal(host), host).toBe(false);
});
