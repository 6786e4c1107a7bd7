import { expect, test } from "vitest";
import { hasModifier, isTyping, keyText, matches } from "./keys";

function press(key: string, more: Partial<KeyboardEvent> = {}): KeyboardEvent {
  return new KeyboardEvent("keydown", { key, ...more } as KeyboardEventInit);
}

test("mod is Command on a Mac and Ctrl elsewhere", () => {
  expect(matches(press("k", { ctrlKey: true }), "mod+k", false)).toBe(true);
  expect(matches(press("k", { metaKey: true }), "mod+k", true)).toBe(true);
  expect(matches(press("k", { metaKey: true }), "mod+k", false)).toBe(false);
  expect(matches(press("k", { ctrlKey: true, metaKey: true }), "mod+k", false)).toBe(false);
});

test("more keys than wanted are another shortcut", () => {
  expect(matches(press("O", { ctrlKey: true, shiftKey: true }), "mod+shift+o", false)).toBe(true);
  expect(matches(press("o", { ctrlKey: true }), "mod+shift+o", false)).toBe(false);
  expect(matches(press("B", { ctrlKey: true, shiftKey: true }), "mod+b", false)).toBe(false);
  expect(matches(press("ArrowUp", { altKey: true }), "alt+arrowup", false)).toBe(true);
  expect(matches(press("ArrowUp", { altKey: true, shiftKey: true }), "alt+arrowup", false)).toBe(
    false,
  );
});

test("a sign that takes Shift to type is still that sign", () => {
  expect(matches(press("?", { shiftKey: true }), "?", false)).toBe(true);
  expect(matches(press("/", { shiftKey: true }), "/", false)).toBe(true);
});

test("on another keyboard the place of the letter counts", () => {
  expect(matches(press("л", { code: "KeyK", ctrlKey: true }), "mod+k", false)).toBe(true);
});

test("shortcuts without a modifier wait until nobody types", () => {
  expect(hasModifier("mod+k")).toBe(true);
  expect(hasModifier("?")).toBe(false);
  expect(isTyping(document.createElement("textarea"))).toBe(true);
  const box = document.createElement("input");
  box.type = "checkbox";
  expect(isTyping(box)).toBe(false);
  expect(isTyping(document.createElement("a"))).toBe(false);
});

test("keys are named as they are printed", () => {
  expect(keyText("mod+shift+o", true)).toBe("⌘⇧O");
  expect(keyText("alt+arrowdown", false)).toBe("Alt+↓");
});
