import { expect, test } from "vitest";
import { crumbs, isPicture, join, parent, sorted } from "./paths";

test("a path is walked down and up again", () => {
  expect(join("", "src")).toBe("src");
  expect(join("src", "lib")).toBe("src/lib");
  expect(parent("src/lib")).toBe("src");
  expect(parent("src")).toBe("");
});

test("every crumb leads to its folder", () => {
  expect(crumbs("src/lib/a.ts")).toEqual([
    { name: "src", path: "src" },
    { name: "lib", path: "src/lib" },
    { name: "a.ts", path: "src/lib/a.ts" },
  ]);
  expect(crumbs("")).toEqual([]);
});

test("SVG is no picture here: it can hold script", () => {
  expect(isPicture("Shot.PNG")).toBe(true);
  expect(isPicture("logo.svg")).toBe(false);
  expect(isPicture("png")).toBe(false);
});

test("folders come first, and numbers count", () => {
  const file = (name: string) => ({ name, kind: "file" });
  const names = sorted([file("b10"), file("b2"), { name: "z", kind: "folder" }]);
  expect(names.map((each) => each.name)).toEqual(["z", "b2", "b10"]);
});
