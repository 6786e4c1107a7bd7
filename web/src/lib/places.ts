/** Places on channels, as people call them. */

import { t } from "../text/text";

const words = t.channels.places;
const titles: Record<string, string> = t.channels.platforms;

/** What a person calls a channel of this name or kind. */
export function platform(name: string): string {
  return titles[name] ?? name;
}

/** The most telling of what an address is made of stands last. */
const PARTS = [
  ["thread", words.thread],
  ["topic", words.topic],
  ["channel", words.channel],
  ["group", words.group],
  ["guild", words.channel],
  ["dm", words.dm],
] as const;

/** "Telegram · Ada" for telegram:dm:42, or "Discord · thread" if nobody knows who is there. */
export function placed(route: string, name?: string | null): string {
  const [channel = "", ...parts] = route.split(":");
  const kind = PARTS.find(([part]) => parts.includes(part))?.[1] ?? words.conversation;
  return words.at(platform(channel), name ?? kind);
}
