/** Numbers as people read them, in the language of the browser. */

const NANO = 1_000_000_000;

const plain = new Intl.NumberFormat();
const compact = new Intl.NumberFormat(undefined, {
  notation: "compact",
  maximumFractionDigits: 1,
});
const percent = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });

/** All of its digits: "12,480". */
export function count(value: number): string {
  return plain.format(value);
}

/** About so many: "12.5K". */
export function about(value: number): string {
  return compact.format(value);
}

/** Costs come as billionths of a dollar. Small ones keep two digits that say something. */
export function dollars(nano: number): string {
  const value = nano / NANO;
  const digits = value === 0 || value >= 0.1 ? 2 : value >= 0.001 ? 4 : 6;
  return new Intl.NumberFormat(undefined, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(value);
}

/** What was spent; null if of nothing that was used the price is known. */
export function spent({
  cost = 0,
  unpriced = 0,
}: {
  cost?: number;
  unpriced?: number;
}): string | null {
  return unpriced && !cost ? null : dollars(cost);
}

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** How large a file is: "1.2 MB". */
export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return new Intl.NumberFormat(undefined, {
    style: "unit",
    unit: UNITS[unit] ?? "byte",
    unitDisplay: unit ? "short" : "long",
    maximumFractionDigits: value < 10 && unit ? 1 : 0,
  }).format(value);
}

/** A part of a whole: "42%". Of nothing it is nothing. */
export function share(part: number, whole: number): string {
  return percent.format(whole > 0 ? part / whole : 0);
}
