/** What was said in a turn, as it can be said again. */

import type { Attachment, MessageView, TurnView } from "../api/types";

type Part = MessageView["parts"][number];

export type Said = { text: string; files: Attachment[] };

/** Only a person's own words and files: what Roost added for the model is added anew. */
export function saidIn(parts: Part[]): Said {
  const texts: string[] = [];
  const files: Attachment[] = [];
  for (const part of parts) {
    if (part.kind === "text") texts.push(part.text);
    else if (part.kind === "image" || part.kind === "file")
      files.push({ file: part.blob, name: part.name ?? part.media_type.replace("/", ".") });
  }
  return { text: texts.join("\n\n"), files };
}

/** The turn that a person began last, and the words it began with: what was said later joined it.
 * The server has them in the message; in the turn it leaves them out. */
export function lastTurn(messages: MessageView[]): { turn: string; said: Said } | null {
  const spoken = messages.filter((each) => each.role === "user");
  const turn = spoken.findLast((each) => each.turn !== null)?.turn;
  const opening = spoken.find((each) => each.turn === turn);
  return turn && opening ? { turn, said: saidIn(opening.parts) } : null;
}

/** What waits, in the order in which it is heard: what joins the turn that runs comes first. The first
 * one of a session that rests is about to begin, and waits for nothing. */
export function inLine(queue: TurnView[], runs: boolean): TurnView[] {
  if (!runs) return queue.slice(1);
  return [...queue.filter((each) => each.steer), ...queue.filter((each) => !each.steer)];
}

/** The first words of it, for a line in a list. */
export function summary({ text, files }: Said, longest = 200): string {
  const words = text.replace(/\s+/g, " ").trim();
  if (!words) return files.map((each) => each.name).join(", ");
  return words.length > longest ? `${words.slice(0, longest - 1)}…` : words;
}
