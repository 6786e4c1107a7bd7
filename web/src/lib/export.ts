/** A session to take away: what was said, or all of it. */

import { address } from "../api/client";

type Format = "markdown" | "json";

export function exportAddress(session: string, format: Format): string {
  return address("/api/sessions/{session}/export", { session }, { format });
}

/** The server names the file. */
export function download(session: string, format: Format): void {
  const link = document.createElement("a");
  link.href = exportAddress(session, format);
  link.download = "";
  link.click();
}
