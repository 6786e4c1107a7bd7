/** What a turn did on the way folds into one line, once it has ended. */

import type { CallView } from "../api/types";
import type { Block } from "./turns";

export type Row =
  | { kind: "block"; key: string; block: Block }
  | { kind: "steps"; key: string; blocks: Block[]; count: number };

/** Said between two steps ("Now the tests."), such a text is part of the way, not of the answer. */
const ASIDE = 200;

/** `stays` names what must be seen: an error, a question. */
export function rowsOf(blocks: Block[], folds: boolean, stays: (block: Block) => boolean): Row[] {
  const rows: Row[] = [];
  let run: Block[] = [];
  const close = (): void => {
    rows.push(...folded(run));
    run = [];
  };
  blocks.forEach((block, place) => {
    if (folds && !stays(block) && (isStep(block) || isAside(block, blocks[place + 1]))) {
      run.push(block);
    } else {
      close();
      rows.push(single(block));
    }
  });
  close();
  return rows;
}

function folded(run: Block[]): Row[] {
  const count = run.filter(isStep).length;
  if (count < 2) return run.map(single);
  return [{ kind: "steps", key: `steps:${run[0]!.key}`, blocks: run, count }];
}

function single(block: Block): Row {
  return { kind: "block", key: block.key, block };
}

function isStep(block: Block): boolean {
  return block.kind === "call" || block.kind === "reasoning";
}

function isAside(block: Block, next: Block | undefined): boolean {
  const short = block.kind === "text" && block.text.length <= ASIDE && !block.text.includes("\n\n");
  return short && next !== undefined && isStep(next);
}

/** From the start of the first step to the end of the last, if that is known. */
export function timeOf(
  blocks: Block[],
  calls: { get(id: string): CallView | undefined },
): number | null {
  let start = Infinity;
  let end = -Infinity;
  for (const block of blocks) {
    if (block.kind === "reasoning" && block.duration && block.message) {
      start = Math.min(start, block.message.created_at - block.duration);
      end = Math.max(end, block.message.created_at);
    } else if (block.kind === "call") {
      const call = calls.get(block.call);
      if (call?.started_at) start = Math.min(start, call.started_at);
      if (call?.ended_at) end = Math.max(end, call.ended_at);
    }
  }
  return end >= start ? end - start : null;
}
