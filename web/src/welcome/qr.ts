/** A code that a camera reads, as one path of an SVG. */

import { encode } from "uqr";

export type Code = { size: number; path: string };

export function codeOf(text: string): Code {
  const { size, data } = encode(text, { ecc: "M", border: 2 });
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return { size, path };
}

/** Whether only this machine itself can be reached by that name. */
export function isLocal(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\]|0\.0\.0\.0)$/.test(host);
}
