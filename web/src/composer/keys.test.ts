import { expect, test } from "vitest";
import { meaning, type Moment, type Pressed } from "./keys";

const desk: Moment = { touch: false, empty: false, runs: false };

function press(key: string, held: Partial<Pressed> = {}): Pressed {
  const none = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };
  return { key, ...none, isComposing: false, keyCode: 0, ...held };
}

test("Enter sends, and with Shift begins a line", () => {
  expect(meaning(press("Enter"), desk)).toBe("send");
  expect(meaning(press("Enter", { shiftKey: true }), desk)).toBeNull();
});

test("on a touch screen Enter begins a line", () => {
  expect(meaning(press("Enter"), { ...desk, touch: true })).toBeNull();
});

test("Enter that takes a word of an input method never sends", () => {
  expect(meaning(press("Enter", { isComposing: true }), desk)).toBeNull();
  expect(meaning(press("Enter", { keyCode: 229 }), desk)).toBeNull();
  expect(meaning(press("Enter", { ctrlKey: true, isComposing: true }), desk)).toBeNull();
});

test("with Ctrl or Command it joins the turn that runs, and is sent if none does", () => {
  for (const held of [{ ctrlKey: true }, { metaKey: true }]) {
    expect(meaning(press("Enter", held), { ...desk, runs: true })).toBe("steer");
    expect(meaning(press("Enter", held), desk)).toBe("send");
  }
});

test("the up arrow recalls only where there is nothing to move in", () => {
  expect(meaning(press("ArrowUp"), { ...desk, empty: true })).toBe("recall");
  expect(meaning(press("ArrowUp"), desk)).toBeNull();
  expect(meaning(press("ArrowUp", { shiftKey: true }), { ...desk, empty: true })).toBeNull();
});
