import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test } from "vitest";
import Diff from "./Diff.svelte";

let end: (() => void) | undefined;

function show(text: string): HTMLElement {
  const component = mount(Diff, { target: document.body, props: { text } });
  end = () => void unmount(component);
  flushSync();
  return document.querySelector<HTMLElement>(".diff")!;
}

afterEach(() => end?.());

test("lines have their numbers and say what they are without colour", () => {
  const page = show("Changed a.py.\n@@ -7,2 +7,2 @@\n-x = old\n+x = new\n y");
  const rows = [...page.querySelectorAll("tr")];
  expect(rows.map((row) => row.className.split(" ")[0])).toEqual(["removed", "added", "same"]);
  expect(rows[1]!.querySelectorAll<HTMLElement>(".number")[1]!.dataset.number).toBe("7");
  expect(rows[1]!.querySelector(".visually-hidden")!.textContent).toBe("added");
  expect(rows[1]!.querySelector("mark")!.textContent).toBe("new");
  expect(page.textContent).toContain("Changed a.py.");
});

test("a long one is folded until it is opened", () => {
  const lines = Array.from({ length: 100 }, (_, n) => `+line ${n}`).join("\n");
  const page = show(`@@ -0,0 +1,100 @@\n${lines}`);
  expect(page.querySelectorAll("tr")).toHaveLength(40);
  page.querySelector("button")!.click();
  flushSync();
  expect(page.querySelectorAll("tr")).toHaveLength(100);
});

test("characters that deceive are shown, and markup is text", () => {
  const page = show(
    `@@ -1 +1 @@\n-a\n+if x${String.fromCharCode(0x202e)}: <img src=x onerror=alert(1)>`,
  );
  expect(page.querySelector("bdi")!.getAttribute("data-char")).toBe("U+202E");
  expect(page.querySelector("img")).toBeNull();
});
