import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Frames, type Haste } from "./frames";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

type Page = {
  done: string[];
  push: (what: string, haste: Haste) => void;
  draw: () => void;
  isAsked: () => boolean;
};

/** A page whose frames are drawn by hand. */
function page(): Page {
  let due: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (each: FrameRequestCallback) => due.push(each));
  const done: string[] = [];
  const frames = new Frames();
  const push = (what: string, haste: Haste): void => {
    frames.push(() => done.push(what), haste);
  };
  const draw = (): void => {
    const now = due;
    due = [];
    for (const each of now) each(0);
  };
  return { done, push, draw, isAsked: () => due.length > 0 };
}

test("what comes faster than frames is done once a frame, in order", () => {
  const { done, push, draw } = page();
  for (const each of ["a", "b", "c"]) push(each, "frame");
  expect(done).toEqual([]);
  draw();
  expect(done).toEqual(["a", "b", "c"]);
  push("d", "frame");
  expect(done).toHaveLength(3);
  draw();
  expect(done).toEqual(["a", "b", "c", "d"]);
});

test("what cannot wait is done at once, after what came before it", () => {
  const { done, push } = page();
  push("a", "soon");
  push("b", "frame");
  push("first word", "now");
  expect(done).toEqual(["a", "b", "first word"]);
});

test("the frame of what cannot wait is left to it", () => {
  const { done, push, draw } = page();
  push("first word", "now");
  push("more", "frame");
  draw();
  expect(done).toEqual(["first word"]);
  draw();
  expect(done).toEqual(["first word", "more"]);
});

test("what nobody waits for asks for a frame only after a moment", () => {
  const { done, push, draw, isAsked } = page();
  push("a", "soon");
  push("b", "soon");
  expect(isAsked()).toBe(false);
  vi.runAllTimers();
  expect(isAsked()).toBe(true);
  draw();
  expect(done).toEqual(["a", "b"]);
  expect(isAsked()).toBe(false);
});

test("what nobody waits for goes along with a frame, and asks for none of its own", () => {
  const { done, push, draw, isAsked } = page();
  push("a", "soon");
  push("b", "frame");
  draw();
  expect(done).toEqual(["a", "b"]);
  vi.runAllTimers();
  expect(isAsked()).toBe(false);
});

test("in a page that nobody sees all is done at once", () => {
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const { done, push } = page();
  push("a", "soon");
  push("b", "frame");
  expect(done).toEqual(["a", "b"]);
});
