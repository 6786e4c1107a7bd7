/** What a choice of models offers. */

import type { Offered } from "../../api/types";
import { t } from "../../text/text";

export type Option = { value: string; label: string };

/** `none` stands first and is chosen by "". A model that is chosen but not offered any more stays to
 * be seen. */
export function options(
  offered: readonly Offered[],
  chosen: string | null,
  none: string,
): Option[] {
  const named = offered.map((each) => ({ value: each.name, label: each.name }));
  const isGone = chosen !== null && !offered.some((each) => each.name === chosen);
  const gone = isGone ? [{ value: chosen, label: t.settings.models.gone(chosen) }] : [];
  return [{ value: "", label: none }, ...gone, ...named];
}
