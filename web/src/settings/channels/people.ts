/** Those who talk over channels, as they are called. */

import type { PairingView } from "../../api/types";
import { t } from "../../text/text";

/** A group is paired by its address, which begins with the channel's name. */
export function isGroup({ channel, sender }: PairingView): boolean {
  return sender.startsWith(`${channel}:`);
}

export function nameOf(pairing: PairingView): string {
  return pairing.name ?? t.channels.pairings.someone(pairing.sender);
}
