import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LASTS, toast, toasts } from "./toasts.svelte";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  for (const each of toasts.list) each.close();
  vi.useRealTimers();
});

test("a toast goes by itself, and then says so", () => {
  const passed = vi.fn();
  toast("Deleted", { passed });
  vi.advanceTimersByTime(LASTS - 1);
  expect(passed).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(passed).toHaveBeenCalledOnce();
  expect(toasts.list).toEqual([]);
});

test("its action takes the place of passing", () => {
  const passed = vi.fn();
  const run = vi.fn();
  const shown = toast("Deleted", { passed, action: { label: "Undo", run } });
  shown.act();
  vi.advanceTimersByTime(LASTS);
  expect(run).toHaveBeenCalledOnce();
  expect(passed).not.toHaveBeenCalled();
});

test("it stays while someone reads it", () => {
  const shown = toast("Read me");
  vi.advanceTimersByTime(LASTS - 100);
  shown.pause();
  vi.advanceTimersByTime(LASTS);
  expect(toasts.list).toHaveLength(1);
  shown.resume();
  vi.advanceTimersByTime(100);
  expect(toasts.list).toHaveLength(0);
});

test("too many make room by passing the oldest", () => {
  const passed = vi.fn();
  toast("first", { passed });
  for (const text of ["second", "third", "fourth"]) toast(text);
  expect(passed).toHaveBeenCalledOnce();
  expect(toasts.list.map((each) => each.text)).toEqual(["second", "third", "fourth"]);
});
