import { expect, test } from "vitest";
import type { SessionView } from "../api/types";
import { DAY } from "../lib/time";
import { daysUntil, type Row, rowsOf } from "./rows";

const NOW = new Date(2026, 10, 15, 10).getTime();

function session(id: string, more: Partial<SessionView> = {}): SessionView {
  return { id, active_at: NOW, pinned: false, project: null, parent: null, ...more } as SessionView;
}

const names = (rows: Row[]): string[] =>
  rows.map((row) => (row.kind === "group" ? `# ${row.label}` : row.key));

const standing = { asking: new Set<string>(), folded: new Set<string>(), now: NOW };

test("each session stands once: who asks first, then pinned, projects and days", () => {
  const all = [
    session("today"),
    session("asks", { pinned: true, project: "Garden" }),
    session("pinned", { project: "Garden", pinned: true }),
    session("planted", { project: "Garden", active_at: NOW - 40 * DAY }),
    session("yesterday", { active_at: NOW - DAY }),
  ];
  const rows = rowsOf(all, { ...standing, asking: new Set(["asks"]) });
  expect(names(rows)).toEqual([
    "# Needs your answer",
    "asks",
    "# Pinned",
    "pinned",
    "# Garden",
    "planted",
    "# Today",
    "today",
    "# Yesterday",
    "yesterday",
  ]);
});

test("a folded project shows its name and how many it holds", () => {
  const all = [session("a", { project: "Garden" }), session("b", { project: "Garden" })];
  const rows = rowsOf(all, { ...standing, folded: new Set(["Garden"]) });
  expect(rows).toMatchObject([{ label: "Garden", isOpen: false, count: 2 }]);
});

test("projects come by name, and the work of subagents is not listed", () => {
  const all = [
    session("z", { project: "Zoo" }),
    session("a", { project: "attic" }),
    session("helper", { parent: { session: "z", kind: "subagent" } }),
    session("branch", { parent: { session: "z", kind: "branch" } }),
  ];
  expect(names(rowsOf(all, standing))).toEqual(["# attic", "a", "# Zoo", "z", "# Today", "branch"]);
});

test("days are those of the calendar, not of 24 hours", () => {
  const late = new Date(2026, 10, 14, 23, 59).getTime();
  expect(daysUntil(new Date(2026, 10, 15, 0, 1).getTime())(late)).toBe("Yesterday");
  const dayOf = daysUntil(NOW);
  expect(dayOf(NOW)).toBe("Today");
  expect(dayOf(NOW + DAY)).toBe("Today");
  expect(dayOf(NOW - 7 * DAY)).toBe("Previous 7 days");
  expect(dayOf(NOW - 8 * DAY)).toBe("November");
  expect(dayOf(NOW - 9 * DAY)).toBe("November");
  expect(dayOf(new Date(2025, 10, 20).getTime())).toBe("November 2025");
});
