import { expect, test } from "vitest";
import { best, fuzzy } from "./fuzzy";

const find = (wanted: string, ...all: string[]): string[] => best(wanted, all, (each) => each, 10);

test("letters are found in order, whatever their case and accents", () => {
  expect(find("cafe", "Le Café", "Facet")).toEqual(["Le Café"]);
  expect(find("xq", "Le Café")).toEqual([]);
});

test("the start of a word beats its middle, and a run beats scattered letters", () => {
  expect(find("set", "Reset all", "Settings")).toEqual(["Settings", "Reset all"]);
  expect(find("nc", "Run cargo", "New chat", "Once more")).toEqual(["Once more", "New chat"]);
});

test("letters strewn over a long text are not a find", () => {
  expect(fuzzy("zebra", "size of the web archive, and where it lies")).toBeNull();
});

test("what was found is marked", () => {
  expect(fuzzy("chat", "New chat")?.marks).toEqual([[4, 8]]);
  expect(fuzzy("nc", "New chat")?.marks).toEqual([
    [0, 1],
    [4, 5],
  ]);
});

test("nothing typed finds everything, in its own order", () => {
  expect(find("", "b", "a")).toEqual(["b", "a"]);
});
