import { expect, test } from "vitest";
import { Problem } from "../api/client";
import { Saving } from "./saving.svelte";

test("what was saved says so", async () => {
  const saving = new Saving();
  expect(await saving.run(() => Promise.resolve())).toBe(true);
  expect(saving.isSaved).toBe(true);
  expect(saving.isBusy).toBe(false);
});

test("what was refused is said until it is put right", async () => {
  const saving = new Saving();
  await saving.run(() => Promise.reject(new Problem(400, "No", "Too short.")));
  expect(saving.problem).not.toBeNull();
  saving.forget();
  expect(saving.problem).toBeNull();
});

test("what was refused says says why, and does not claim to be saved", async () => {
  const saving = new Saving();
  await saving.run(() => Promise.resolve());
  expect(await saving.run(() => Promise.reject(new Problem(422, "No", "Too short.")))).toBe(false);
  expect(saving.isSaved).toBe(false);
  expect(saving.problem?.detail).toBe("Too short.");
});
