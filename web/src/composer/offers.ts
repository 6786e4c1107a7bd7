/** The models to choose from, as a list that can be searched. */

import type { Offered } from "../api/types";
import { about } from "../lib/numbers";
import { t } from "../text/text";

export type Group = { provider: string; models: Offered[] };

/** Some providers have hundreds. */
const MOST = 60;

/** Those whose names hold all the words, by provider. */
export function matching(offered: Offered[], words: string): { groups: Group[]; more: number } {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = offered.filter(({ name }) => {
    const low = name.toLowerCase();
    return wanted.every((word) => low.includes(word));
  });
  const groups = new Map<string, Offered[]>();
  for (const each of found.slice(0, MOST)) {
    groups.set(each.provider, [...(groups.get(each.provider) ?? []), each]);
  }
  return {
    groups: [...groups].map(([provider, models]) => ({ provider, models })),
    more: Math.max(0, found.length - MOST),
  };
}

/** What it holds and costs, as far as that is known. */
export function hintOf({ context, input_price, output_price }: Offered): string {
  const hints: string[] = [];
  if (context) hints.push(t.composer.context(about(context)));
  if (input_price === 0 && output_price === 0) hints.push(t.composer.free);
  else if (typeof input_price === "number" && typeof output_price === "number")
    hints.push(t.composer.price(money(input_price), money(output_price)));
  return hints.join(" · ");
}

/** Dollars for a million tokens: "$3", "$0.15". */
function money(price: number): string {
  const digits = price >= 1 && Number.isInteger(price) ? 0 : price < 0.1 ? 3 : 2;
  return `$${price.toFixed(digits)}`;
}

/** Without its provider, for where there is little room. */
export function shortName(name: string): string {
  return name.split("/").at(-1) ?? name;
}
