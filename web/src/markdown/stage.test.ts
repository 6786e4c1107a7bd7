import { afterEach, expect, test, vi } from "vitest";
import { onStage } from "./stage";

const own = (): unknown[] => [
  Element.prototype.setAttribute,
  Node.prototype.insertBefore,
  DOMParser.prototype.parseFromString,
];
const before = own();

afterEach(() => {
  vi.useRealTimers();
  expect(own()).toEqual(before);
  expect(document.querySelector(".diagram-stage")).toBeNull();
});

test("styles are set by script while something is drawn, and as ever afterwards", async () => {
  const drawn = await onStage((stage) => {
    expect(own().some((each, place) => each === before[place])).toBe(false);
    stage.setAttribute("style", "color: red");
    return Promise.resolve(stage.style.color);
  });
  expect(drawn).toBe("red");
});

test("a drawing that fails leaves everything as it was", async () => {
  await expect(onStage(() => Promise.reject(new Error("no diagram")))).rejects.toThrow(
    "no diagram",
  );
  const thrown = onStage(() => {
    throw new Error("at once");
  });
  await expect(thrown).rejects.toThrow("at once");
});

test("a drawing that never ends is given up", async () => {
  vi.useFakeTimers();
  const endless = expect(onStage(() => new Promise(() => undefined))).rejects.toThrow("too long");
  await vi.advanceTimersByTimeAsync(20_000);
  await endless;
});
