/** Which way text runs. */

const RIGHT_TO_LEFT =
  /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const LETTER = /\p{L}/u;

export function hasRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text);
}

/** The way of its first letter. */
export function directionOf(text: string): "rtl" | "ltr" {
  return RIGHT_TO_LEFT.test(LETTER.exec(text)?.[0] ?? "") ? "rtl" : "ltr";
}
