/** A measure in words. */

import { about, dollars } from "../../lib/numbers";
import type { Measure } from "./chart";

export function said(value: number, measure: Measure): string {
  return measure === "cost" ? dollars(value) : about(value);
}
