import { t } from "../text/text";

/** What the tab is called: how many sessions wait for an answer, or that one has something new. */
export function pageTitle(place: string | null, asking: number, hasUnread: boolean): string {
  const mark = asking ? `(${asking}) ` : hasUnread ? "• " : "";
  return `${mark}${place ? `${place} - ` : ""}${t.common.roost}`;
}
