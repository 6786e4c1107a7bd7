/** What the palette offers for what was typed. */

import type { Hit, SessionView } from "../api/types";
import { titleOf } from "../sidebar/sidebar.svelte";
import { t } from "../text/text";
import type { Command } from "./commands.svelte";
import { best, fuzzy } from "./fuzzy";

export type Choice = {
  id: string;
  section: string;
  label: string;
  /** Where in the label what was typed stands. */
  marks: [number, number][];
  keys?: string;
  hit?: Hit;
  session?: string;
  run?: () => void;
};

const RECENT = 6;
const MOST = 12;
const words = t.shell.palette;

export function choicesFor(
  typed: string,
  known: { commands: Command[]; sessions: SessionView[]; hits: Hit[] },
): Choice[] {
  if (!typed.trim()) {
    const recent = known.sessions.slice(0, RECENT).map((each) => ofSession(each, "", words.recent));
    return [...recent, ...known.commands.map((each) => ofCommand(each, ""))];
  }
  const named = best(typed, known.sessions, titleOf, MOST);
  const found = best(typed, known.commands, (each) => each.label, MOST);
  const groups = [
    found.map((each) => ofCommand(each, typed)),
    named.map((each) => ofSession(each, typed, words.sessions)),
  ].sort((a, b) => score(typed, b) - score(typed, a));
  return [...groups.flat(), ...known.hits.map(ofHit)];
}

/** Of the best in a group, which comes first. */
function score(typed: string, [first]: Choice[]): number {
  return (first && fuzzy(typed, first.label)?.score) ?? -1;
}

function ofSession(session: SessionView, typed: string, section: string): Choice {
  const label = titleOf(session);
  const marks = fuzzy(typed, label)?.marks ?? [];
  return { id: `s-${session.id}`, section, label, marks, session: session.id };
}

function ofCommand({ id, label, keys, run }: Command, typed: string): Choice {
  const marks = fuzzy(typed, label)?.marks ?? [];
  const choice: Choice = { id: `c-${id}`, section: words.commands, label, marks, run };
  return keys ? { ...choice, keys } : choice;
}

function ofHit(hit: Hit): Choice {
  return {
    id: `h-${hit.seq}`,
    section: words.messages,
    label: titleOf(hit),
    marks: [],
    hit,
    session: hit.session,
  };
}

/** Choices of one section follow each other already. */
export function sectionsOf(choices: Choice[]): [string, Choice[]][] {
  const sections = new Map<string, Choice[]>();
  for (const each of choices)
    sections.set(each.section, [...(sections.get(each.section) ?? []), each]);
  return [...sections];
}
