import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { regularly } from "./regularly";

let isHidden = false;
let end = (): void => undefined;
const run = vi.fn();

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(document, "hidden", "get").mockImplementation(() => isHidden);
  run.mockClear();
  isHidden = false;
  end = regularly(run, 1000);
});

afterEach(() => {
  end();
  vi.useRealTimers();
});

test("it is done at once, and again after a while", () => {
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(2500);
  expect(run).toHaveBeenCalledTimes(3);
});

test("it rests while nobody sees the page, and is done when someone comes back", () => {
  isHidden = true;
  vi.advanceTimersByTime(5000);
  expect(run).toHaveBeenCalledTimes(1);
  isHidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  expect(run).toHaveBeenCalledTimes(2);
});

test("it ends", () => {
  end();
  vi.advanceTimersByTime(5000);
  expect(run).toHaveBeenCalledTimes(1);
});
