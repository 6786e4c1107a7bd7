import { expect, test } from "vitest";
import { firstSentence } from "./described";

test("the first sentence says what a tool is for", () => {
  expect(firstSentence("Run a command.\nIt may take long. So wait.")).toBe("Run a command.");
  expect(firstSentence("Read `a.txt` or b.txt\n\nMore.")).toBe("Read `a.txt` or b.txt");
});

test("a point inside of a sentence does not end it", () => {
  expect(firstSentence("Fetch a page, e.g. example.com, as text. Then read it.")).toBe(
    "Fetch a page, e.g. example.com, as text.",
  );
});
