/** Which session works for a call. */

import type { SessionView } from "../api/types";
import { argumentsOf } from "./tools";

const TITLE = 60;
const ACCOUNT = /\n*\[subagent (ses_[0-9a-z]+): [^\]]*\]$/;

/** The report names it; before there is one it goes by the first paragraph of the task, which gave
 * the session its title. */
export function childOf(sessions: SessionView[], task: string, report: string): SessionView | null {
  const named = ACCOUNT.exec(report)?.[1];
  if (named) return sessions.find((each) => each.id === named) ?? null;
  const wanted = argumentsOf(task, ["task"])["task"];
  if (typeof wanted !== "string") return null;
  const [first = ""] = wanted.trim().split("\n\n", 1);
  const title = first.split(/\s+/).filter(Boolean).join(" ").slice(0, TITLE);
  const alike = sessions.filter((each) => each.title === title);
  return alike.toSorted((a, b) => b.created_at - a.created_at)[0] ?? null;
}

/** The answer, without what it cost. */
export function reported(report: string): string {
  return report.replace(ACCOUNT, "");
}
