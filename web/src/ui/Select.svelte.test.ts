import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test, vi } from "vitest";
import Select from "./Select.svelte";

let end: (() => void) | undefined;

function shown(onchange: () => Promise<boolean>): HTMLSelectElement {
  const options = ["a", "b"].map((value) => ({ value, label: value }));
  const props = { label: "Letter", value: "a", options, onchange };
  const component = mount(Select, { target: document.body, props });
  end = () => void unmount(component);
  flushSync();
  return document.querySelector("select")!;
}

afterEach(() => end?.());

test("a choice that could not be kept is taken back", async () => {
  const select = shown(() => Promise.resolve(false));
  select.value = "b";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  expect(select.value).toBe("b");
  await vi.waitFor(() => {
    expect(select.value).toBe("a");
  });
});
