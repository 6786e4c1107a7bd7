import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReplacedMessages } from "./replaced.svelte";

const asked: string[] = [];
let answers: unknown[] = [];

beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    const answer = answers.shift();
    return Promise.resolve(
      answer ? Response.json(answer) : Response.json({ title: "No", status: 500 }, { status: 500 }),
    );
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function page(positions: number[], older: boolean): unknown {
  const messages = positions.map((position) => ({ id: `msg_${position}`, position }));
  return { messages, turns: [], calls: [], approvals: [], older };
}

function positions(replaced: ReplacedMessages): number[] | undefined {
  return replaced.page.value?.messages.map((each) => each.position);
}

test("what was replaced is read from its end, page by page", async () => {
  answers = [page([3, 4], true), page([1, 2], false)];
  const replaced = new ReplacedMessages(() => ({ session: "ses_1", epoch: 2 }));
  await replaced.page.load();
  expect(positions(replaced)).toEqual([3, 4]);
  expect(replaced.page.value?.older).toBe(true);
  await replaced.readOn();
  expect(asked[1]).toContain("/ses_1/rewrites/2/replaced?before=3");
  expect(positions(replaced)).toEqual([1, 2, 3, 4]);
  expect(replaced.page.value?.older).toBe(false);
});

test("a page that can't be read leaves what is known, and can be asked for again", async () => {
  answers = [page([2], true), undefined, page([1], false)];
  const replaced = new ReplacedMessages(() => ({ session: "ses_1", epoch: 2 }));
  await replaced.page.load();
  await replaced.readOn();
  expect(positions(replaced)).toEqual([2]);
  await replaced.readOn();
  expect(positions(replaced)).toEqual([1, 2]);
});
