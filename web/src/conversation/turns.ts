/** The history as it is shown: messages by turn, each cut into blocks. */

import type { MessageView, TurnView } from "../api/types";
import type { Live, LivePart } from "../state/live.svelte";

export type Part = MessageView["parts"][number];
type ResultPart = Extract<Part, { kind: "tool_result" }>;
export type AttachedPart = Extract<Part, { kind: "image" | "file" }>;

type NoteKind = NonNullable<Extract<Part, { kind: "text" }>["note"]>;

type Base = { key: string; message: MessageView | null };

/** One thing on the page. What is `live` still grows; the text of it is there. */
export type Block = Base &
  (
    | { kind: "note" | "unknown" }
    /** What is not stored yet has no id that anything could be done with. */
    | { kind: "user"; isStored: boolean }
    | { kind: "text"; text: string; live: LivePart | null }
    | { kind: "reasoning"; text: string; duration: number | null; live: LivePart | null }
    | {
        kind: "call";
        call: string;
        name: string;
        arguments: string;
        result: ResultPart | null;
        live: LivePart | null;
      }
    | { kind: "attached"; part: AttachedPart }
  );

export type CallBlock = Extract<Block, { kind: "call" }>;

/** The messages of a turn that stand together, or a word of Roost's own between two turns. */
export type Group = {
  key: string;
  turn: string | null;
  messages: MessageView[];
  blocks: Block[];
  at: number;
  /** Whether the turn ends here: a summary may stand in the middle of one. */
  isLast: boolean;
};

export function textOf(message: Pick<MessageView, "parts">): string {
  const texts = message.parts.filter((part) => part.kind === "text");
  return texts.map((part) => part.text).join("\n\n");
}

/** Stands for messages that a compaction replaced. */
export function isSummary(message: MessageView): boolean {
  return noteOf(message) === "summary";
}

/** A note that tells the model to go on where it stopped. */
export function isContinuation(message: MessageView): boolean {
  return noteOf(message) === "continuation";
}

/** What the server says that a note is. */
function noteOf(message: MessageView): NoteKind | undefined {
  if (message.role !== "note") return undefined;
  return message.parts.find((part) => part.kind === "text")?.note ?? undefined;
}

/** Groups that have not changed are those of before: what shows them has nothing to do. `streamed`
 * names the messages that were shown while they streamed, so that they stay where they are. */
export function grouped(
  messages: MessageView[],
  streamed: ReadonlyMap<string, string> = new Map(),
  before: Group[] = [],
): Group[] {
  const known = new Map(before.map((each) => [each.key, each]));
  const runs = runsOf(messages);
  const seen = new Set<string>();
  const groups: Group[] = [];
  // From the end: of a turn in several pieces the last keeps its name when older pages come.
  for (const run of runs.toReversed()) {
    const first = run[0]!;
    const turn = isSummary(first) ? null : first.turn;
    const isLast = turn === null || !seen.has(turn);
    const key = turn !== null && isLast ? turn : first.id;
    if (turn !== null) seen.add(turn);
    const old = known.get(key);
    const same = old && old.isLast === isLast && isSame(old.messages, run);
    groups.push(same ? old : group(key, turn, run, isLast, streamed));
  }
  return groups.reverse();
}

function isSame(one: MessageView[], other: MessageView[]): boolean {
  return one.length === other.length && one.every((each, place) => each === other[place]);
}

function runsOf(messages: MessageView[]): MessageView[][] {
  const runs: MessageView[][] = [];
  let previous: MessageView | undefined;
  for (const message of messages) {
    if (previous && belongs(message, previous)) runs.at(-1)!.push(message);
    else runs.push([message]);
    previous = message;
  }
  return runs;
}

/** What was imported has no turns: there each message of the person begins one. */
function belongs(message: MessageView, previous: MessageView): boolean {
  if (isSummary(message) || isSummary(previous)) return false;
  if (message.turn !== previous.turn) return false;
  if (message.turn !== null) return true;
  return message.role !== "user" && message.role !== "note" && previous.role !== "note";
}

function group(
  key: string,
  turn: string | null,
  messages: MessageView[],
  isLast: boolean,
  streamed: ReadonlyMap<string, string>,
): Group {
  const results = new Map<string, ResultPart>();
  for (const message of messages) {
    for (const part of message.parts) if (part.kind === "tool_result") results.set(part.call, part);
  }
  const blocks = messages.flatMap((each) => blocksOf(each, results, streamed.get(each.id)));
  const opening = blocks.find((each) => each.kind === "user");
  if (opening && turn !== null) opening.key = turn;
  return { key, turn, messages, blocks, at: messages[0]!.created_at, isLast };
}

/** A turn whose words are not in the history yet. It has the names that it will have there, so that
 * what is shown of it stays. */
export function coming(turn: string, parts: Part[], at: number): Group {
  const message: MessageView = {
    id: turn,
    role: "user",
    parts,
    turn,
    partial: false,
    pinned: false,
    position: Infinity,
    created_at: at,
  };
  const block: Block = { kind: "user", key: turn, message, isStored: false };
  return { key: turn, turn, messages: [message], blocks: [block], at, isLast: true };
}

function blocksOf(
  message: MessageView,
  results: ReadonlyMap<string, ResultPart>,
  streamed: string | undefined,
): Block[] {
  if (message.role === "user") return [{ kind: "user", key: message.id, message, isStored: true }];
  if (message.role === "note") return [{ kind: "note", key: message.id, message }];
  if (message.role === "tool") return [];
  const name = streamed ?? message.id;
  let texts = 0;
  let thoughts = 0;
  const blocks: Block[] = [];
  for (const part of message.parts) {
    switch (part.kind) {
      case "text":
        if (part.text.trim())
          blocks.push({
            kind: "text",
            key: `${name}:text${texts++}`,
            message,
            text: part.text,
            live: null,
          });
        break;
      case "reasoning":
        if (part.text.trim() || part.duration_ms)
          blocks.push({
            kind: "reasoning",
            key: `${name}:reasoning${thoughts++}`,
            message,
            text: part.text,
            duration: part.duration_ms ?? null,
            live: null,
          });
        break;
      case "tool_call":
        blocks.push({
          kind: "call",
          key: part.call,
          message,
          call: part.call,
          name: part.name,
          arguments: part.arguments,
          result: results.get(part.call) ?? null,
          live: null,
        });
        blocks.push(...sentBlocks(message, results.get(part.call)));
        break;
      case "image":
      case "file":
        blocks.push({ kind: "attached", key: `${message.id}:${part.blob}`, message, part });
        break;
      case "unknown":
        blocks.push({ kind: "unknown", key: `${message.id}:${blocks.length}`, message });
        break;
    }
  }
  return blocks;
}

/** A file that the agent gave to the person stands beside its words, not inside of a step. */
function sentBlocks(message: MessageView, result: ResultPart | undefined): Block[] {
  const blocks: Block[] = [];
  for (const part of result?.content ?? []) {
    if (part.kind === "file" && part.sent)
      blocks.push({ kind: "attached", key: `${result!.call}:${part.blob}`, message, part });
  }
  return blocks;
}

/** What streams, in the shape that it will have as a message. */
export function liveBlocks(live: Live): Block[] {
  return live.parts.map((part): Block => {
    const key = `${live.key}:${part.key}`;
    switch (part.kind) {
      case "text":
        return { kind: "text", key, message: null, text: "", live: part };
      case "reasoning":
        return { kind: "reasoning", key, message: null, text: "", duration: null, live: part };
      case "tool_call":
        return {
          kind: "call",
          key: part.key,
          message: null,
          call: part.key,
          name: part.name,
          arguments: "",
          result: null,
          live: part,
        };
    }
  });
}

/** Words of an answer that was not finished. */
export function wordsKept(group: Group): number {
  const partial = group.messages.filter((each) => each.partial);
  const words = partial.flatMap((each) => textOf(each).split(/\s+/));
  return words.filter(Boolean).length;
}

/** It ended before its end: there is something to go on with, or to try again. */
export function isBroken({ state }: TurnView): boolean {
  return state === "interrupted" || state === "cancelled" || state === "failed";
}
