/** The sidebar as a flat list of rows: headings, and the sessions below them. */

import type { SessionView } from "../api/types";
import { month } from "../lib/time";
import { t } from "../text/text";

export type GroupRow = {
  kind: "group";
  key: string;
  label: string;
  /** Set for what can be folded. */
  project?: string;
  isOpen: boolean;
  count: number;
};
type SessionRow = { kind: "session"; key: string; session: SessionView; project?: string };
export type Row = GroupRow | SessionRow;

export type Standing = {
  /** Sessions that wait for an answer of this person. */
  asking: ReadonlySet<string>;
  /** Projects that are folded. */
  folded: ReadonlySet<string>;
  now: number;
};

type Group = { key: string; label: string; project?: string; sessions: SessionView[] };

/** `sessions` come with the latest first, and stay so in each group. */
export function rowsOf(sessions: SessionView[], standing: Standing): Row[] {
  const asking: Group = { key: "asking", label: t.sidebar.asking, sessions: [] };
  const pinned: Group = { key: "pinned", label: t.sidebar.pinned, sessions: [] };
  const projects = new Map<string, Group>();
  const days = new Map<string, Group>();
  const dayOf = daysUntil(standing.now);
  for (const session of sessions) {
    if (session.parent?.kind === "subagent") continue;
    if (standing.asking.has(session.id)) asking.sessions.push(session);
    else if (session.pinned) pinned.sessions.push(session);
    else if (session.project) intoProject(projects, session.project, session);
    else into(days, dayOf(session.active_at), session);
  }
  const byName = [...projects.values()].sort((a, b) => a.label.localeCompare(b.label));
  const groups = [asking, pinned, ...byName, ...days.values()];
  return groups.flatMap((group) => rows(group, standing.folded));
}

/** Without groups: the archive. */
export function plainRows(sessions: SessionView[]): Row[] {
  return sessions.map((session) => ({ kind: "session", key: session.id, session }));
}

/** Says of a time which day it belongs to. Ten thousand are asked at once: the calendar is asked
 * once for each day boundary, and once for each month. */
export function daysUntil(now: number): (at: number) => string {
  const today = daysAgo(0, now);
  const yesterday = daysAgo(1, now);
  const lastWeek = daysAgo(7, now);
  const months = new Map<number, string>();
  return (at) => {
    if (at >= today) return t.sidebar.today;
    if (at >= yesterday) return t.sidebar.yesterday;
    if (at >= lastWeek) return t.sidebar.lastWeek;
    const date = new Date(at);
    const key = date.getFullYear() * 12 + date.getMonth();
    const label = months.get(key) ?? month(at, now);
    months.set(key, label);
    return label;
  };
}

/** Its first moment. */
function daysAgo(days: number, now: number): number {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime();
}

function intoProject(groups: Map<string, Group>, project: string, session: SessionView): void {
  const group = groups.get(project);
  if (group) group.sessions.push(session);
  else groups.set(project, { key: `p:${project}`, label: project, project, sessions: [session] });
}

function into(groups: Map<string, Group>, label: string, session: SessionView): void {
  const group = groups.get(label);
  if (group) group.sessions.push(session);
  else groups.set(label, { key: `d:${label}`, label, sessions: [session] });
}

function rows(group: Group, folded: ReadonlySet<string>): Row[] {
  const { key, label, project, sessions } = group;
  if (!sessions.length) return [];
  const isOpen = project === undefined || !folded.has(project);
  const inside = project === undefined ? {} : { project };
  const head: Row = { kind: "group", key, label, isOpen, count: sessions.length, ...inside };
  if (!isOpen) return [head];
  return [
    head,
    ...sessions.map((session): Row => ({ kind: "session", key: session.id, session, ...inside })),
  ];
}
