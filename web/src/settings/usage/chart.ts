/** What a chart of usage shows, worked out before anything is drawn. */

import type { Used, UsedOnDay } from "../../api/types";
import { DAY } from "../../lib/time";

/** Tokens read and written, or what they cost. */
export type Measure = "tokens" | "cost";

export function measured(used: Used, measure: Measure): number {
  return measure === "cost" ? used.cost : used.input_tokens + used.output_tokens;
}

type Slice = { model: string; value: number };
export type Bar = { day: number; total: number; slices: Slice[] };

/** One bar for each of the last days, those without use included; the largest models at the bottom. */
export function bars(
  used: readonly UsedOnDay[],
  days: number,
  measure: Measure,
  now: number,
): Bar[] {
  const order = models(
    used.map((each) => each.used),
    measure,
  ).map((each) => each.model);
  const last = Math.floor(now / DAY) * DAY;
  return Array.from({ length: days }, (_, n) => {
    const day = last - (days - 1 - n) * DAY;
    const ofDay = used.filter((each) => each.day === day).map((each) => each.used);
    const slices = order
      .map((model) => ({
        model,
        value: sum(
          ofDay.filter((each) => named(each) === model),
          measure,
        ),
      }))
      .filter((slice) => slice.value > 0);
    return { day, total: slices.reduce((all, slice) => all + slice.value, 0), slices };
  });
}

/** What each model was used for, the most first. */
export function models(used: readonly Used[], measure: Measure): Slice[] {
  const names = [...new Set(used.map(named))];
  return names
    .map((model) => ({
      model,
      value: sum(
        used.filter((each) => named(each) === model),
        measure,
      ),
    }))
    .sort((a, b) => b.value - a.value || a.model.localeCompare(b.model));
}

export function named(used: Used): string {
  return `${used.provider}/${used.model}`;
}

function sum(used: readonly Used[], measure: Measure): number {
  return used.reduce((all, each) => all + measured(each, measure), 0);
}

type Totals = {
  calls: number;
  input: number;
  output: number;
  cached: number;
  cost: number;
  unpriced: number;
};

export function totals(used: readonly Used[]): Totals {
  const all = { calls: 0, input: 0, output: 0, cached: 0, cost: 0, unpriced: 0 };
  for (const each of used) {
    all.calls += each.calls;
    all.input += each.input_tokens;
    all.output += each.output_tokens;
    all.cached += each.cached_tokens;
    all.cost += each.cost;
    all.unpriced += each.unpriced;
  }
  return all;
}

/** Round numbers from 0 to at least `most`, a few of them: 0, 20, 40, 60. */
export function ticks(most: number, wanted = 4): number[] {
  if (most <= 0) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough;
  const steps = Math.ceil(most / step - 1e-9);
  return Array.from({ length: steps + 1 }, (_, n) => n * step);
}

export type Piece = Slice & { y: number; height: number };

/** A bar's slices from the ground up, in a chart `height` high whose top is `most`. A slice that is
 * there can be seen. */
export function pieces(bar: Bar, most: number, height: number): Piece[] {
  let ground = height;
  return bar.slices.map((slice) => {
    const tall = Math.max(1, (slice.value / most) * height);
    ground -= tall;
    return { ...slice, y: ground, height: tall };
  });
}

/** Every n-th day has a label, so that they do not run into one another. */
export function labelled(days: number, room: number): (n: number) => boolean {
  const every = Math.max(1, Math.ceil(days / room));
  return (n) => (days - 1 - n) % every === 0;
}
