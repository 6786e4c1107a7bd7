/** The sidebar as a flat list of rows: headings, and the sessions below them. */

import type { SessionView } from "../api/types";
import { daysBetween, month } from "../lib/time";
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
export type SessionRow = { kind: "session"; key: string; session: SessionView; project?: string };
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
  for (const session of sessions) {
    if (session.parent?.kind === "subagent") continue;
    if (standing.asking.has(session.id)) asking.sessions.push(session);
    else if (session.pinned) pinned.sessions.push(session);
    else if (session.project) intoProject(projects, session.project, session);
    else into(days, dayOf(session.active_at, standing.now), session);
  }
  const byName = [...projects.values()].sort((a, b) => a.label.localeCompare(b.label));
  const groups = [asking, pinned, ...byName, ...days.values()];
  return groups.flatMap((group) => rows(group, standing.folded));
}

/** Without groups: the archive. */
export function plainRows(sessions: SessionView[]): Row[] {
  return sessions.map((session) => ({ kind: "session", key: session.id, session }));
}

export function dayOf(at: number, now: number): string {
  const days = daysBetween(at, now);
  if (days <= 0) return t.sidebar.today;
  if (days === 1) return t.sidebar.yesterday;
  return days <= 7 ? t.sidebar.lastWeek : month(at, now);
}

/** Names of all projects that are known. */
export function projectsOf(sessions: SessionView[]): string[] {
  const names = new Set(sessions.map((each) => each.project).filter((each) => each !== null));
  return [...names].sort((a, b) => a.localeCompare(b));
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
