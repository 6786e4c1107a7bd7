/** How a channel is doing, in people's words. */

import type { ChannelView } from "../../api/types";
import { t } from "../../text/text";
import { clock, date, daysBetween } from "../../lib/time";

const words = t.channels;

export type Tone = "good" | "warn" | "bad" | "quiet";
export type Said = { tone: Tone; text: string; advice?: string };

export function conditionOf(channel: ChannelView, now = Date.now()): Said {
  const { condition, configured, paused, since } = channel;
  switch (condition) {
    case "connected":
      return { tone: "good", text: words.conditions.connected };
    case "connecting":
      return { tone: "quiet", text: words.conditions.connecting };
    case "elsewhere":
      return { tone: "quiet", text: words.conditions.elsewhere };
    case "off":
      return { tone: "quiet", text: words.conditions[paused === "yes" ? "paused" : "off"] };
    case "lost":
      return {
        tone: "warn",
        text: words.conditions.lost(moment(since, now)),
        advice: words.advice.lost,
      };
    case "refused":
    case "wrong":
      return {
        tone: "bad",
        text: words.conditions[condition],
        advice: configured ? words.advice.fixed : words.advice[condition],
      };
  }
}

/** Whether there is nothing to wait for. */
export function isSettled(channel: ChannelView): boolean {
  return !["connecting", "off"].includes(channel.condition) || channel.paused === "yes";
}

function moment(at: number, now: number): string {
  return daysBetween(at, now) ? `${date(at, now)}, ${clock(at)}` : clock(at);
}
