import { beforeEach, expect, test, vi } from "vitest";
import { Loaded } from "../lib/loaded.svelte";
import { toasts } from "../ui/toasts.svelte";
import { Removals } from "./removals.svelte";

let kept: string[] = [];
let listing: Loaded<string[]>;
let removals: Removals;

const shown = (): string[] => (listing.value ?? []).filter((each) => !removals.has(each));

function remove(name: string): void {
  removals.add(name, `${name} is removed.`, async () => {
    await Promise.resolve();
    kept = kept.filter((each) => each !== name);
  });
}

beforeEach(async () => {
  for (const each of [...toasts.list]) each.close();
  kept = ["owl", "heron"];
  listing = new Loaded(() => Promise.resolve(kept));
  removals = new Removals(listing);
  await listing.load();
});

test("what is removed is hidden at once, and shown again when that is undone", () => {
  remove("owl");
  expect(shown()).toEqual(["heron"]);
  toasts.list[0]?.act();
  expect(shown()).toEqual(["owl", "heron"]);
  expect(kept).toEqual(["owl", "heron"]);
});

test("one that is added under the name of one that was removed is shown", async () => {
  remove("owl");
  toasts.list[0]?.close();
  await vi.waitFor(() => {
    expect(listing.value).toEqual(["heron"]);
  });
  kept = ["heron", "owl"];
  await listing.load();
  expect(shown()).toEqual(["heron", "owl"]);
});
