import { expect, test } from "vitest";
import { Problem } from "../api/client";
import { Loaded } from "./loaded.svelte";

test("of two reads at once the later one counts", async () => {
  const answers: ((value: string) => void)[] = [];
  const loaded = new Loaded(() => new Promise<string>((resolve) => answers.push(resolve)));
  const first = loaded.load();
  const second = loaded.load();
  answers[1]?.("new");
  answers[0]?.("old");
  await Promise.all([first, second]);
  expect(loaded.value).toBe("new");
  expect(loaded.isLoading).toBe(false);
});

test("what was there stays when it can't be read anew", async () => {
  let fails = false;
  const loaded = new Loaded(() =>
    fails ? Promise.reject(new Problem(500, "No", "")) : Promise.resolve(1),
  );
  await loaded.load();
  fails = true;
  await loaded.load();
  expect(loaded.value).toBe(1);
  expect(loaded.problem?.title).toBe("No");
});
