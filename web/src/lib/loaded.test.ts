import { expect, test, vi } from "vitest";
import { Problem } from "../api/client";
import { connection } from "../state/connection.svelte";
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

test("what could not be read without the server is read when it is back", async () => {
  let reads = 0;
  const loaded = new Loaded(() =>
    reads++ ? Promise.resolve("there") : Promise.reject(new Problem(0, "Away", "")),
  );
  await loaded.load();
  expect(loaded.problem?.title).toBe("Away");
  connection.tell("live");
  await vi.waitFor(() => {
    expect(loaded.value).toBe("there");
  });
  expect(loaded.problem).toBe(null);
  connection.tell("live");
  expect(reads).toBe(2);
});
