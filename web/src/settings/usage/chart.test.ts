import { expect, test } from "vitest";
import type { Used } from "../../api/types";
import { DAY } from "../../lib/time";
import { bars, labelled, models, pieces, ticks, totals } from "./chart";

const TODAY = 20_000 * DAY;

function used(model: string, input: number, cost = 0): Used {
  return {
    provider: "local",
    model,
    calls: 1,
    input_tokens: input,
    cached_tokens: input / 2,
    cache_write_tokens: 0,
    output_tokens: 10,
    reasoning_tokens: 0,
    cost,
    unpriced: 0,
  };
}

test("every day has a bar, also one without use", () => {
  const shown = bars([{ day: TODAY - DAY, used: used("a", 90) }], 3, "tokens", TODAY + 5000);
  expect(shown.map((bar) => [bar.day, bar.total])).toEqual([
    [TODAY - 2 * DAY, 0],
    [TODAY - DAY, 100],
    [TODAY, 0],
  ]);
});

test("slices stand in the same order on all days, the most used model first", () => {
  const days = [
    { day: TODAY - DAY, used: used("small", 20) },
    { day: TODAY - DAY, used: used("large", 10) },
    { day: TODAY, used: used("large", 500) },
  ];
  const [before] = bars(days, 2, "tokens", TODAY);
  expect(before?.slices.map((slice) => slice.model)).toEqual(["local/large", "local/small"]);
});

test("cost is measured by itself", () => {
  const found = models([used("a", 900, 5), used("b", 10, 70)], "cost");
  expect(found).toEqual([
    { model: "local/b", value: 70 },
    { model: "local/a", value: 5 },
  ]);
});

test("ticks are round and reach the top", () => {
  expect(ticks(57)).toEqual([0, 20, 40, 60]);
  expect(ticks(1000)).toEqual([0, 250, 500, 750, 1000]);
  expect(ticks(0)).toEqual([0, 1]);
  for (const most of [1, 3, 7, 99, 12_345, 3.7e9]) {
    expect(ticks(most).at(-1)).toBeGreaterThanOrEqual(most);
    expect(ticks(most).length).toBeLessThanOrEqual(6);
  }
});

test("pieces stand on one another and fill the bar", () => {
  const bar = {
    day: 0,
    total: 100,
    slices: [
      { model: "a", value: 75 },
      { model: "b", value: 25 },
    ],
  };
  expect(pieces(bar, 200, 80).map(({ y, height }) => [y, height])).toEqual([
    [50, 30],
    [40, 10],
  ]);
});

test("the last day always has its label", () => {
  const shows = labelled(30, 6);
  const shown = Array.from({ length: 30 }, (_, n) => n).filter(shows);
  expect(shown).toEqual([4, 9, 14, 19, 24, 29]);
});

test("totals add up over models", () => {
  expect(totals([used("a", 100, 3), used("b", 50, 4)])).toEqual({
    calls: 2,
    input: 150,
    output: 20,
    cached: 75,
    cost: 7,
    unpriced: 0,
  });
});
