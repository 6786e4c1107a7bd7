/** Which session works for a call. */

import type { SessionView } from "../api/types";

const ACCOUNT = /\n*\[subagent (ses_[0-9a-z]+): [^\]]*\]$/;

/** It says which call it works for; the report names it too, which is all that an import has. */
export function childOf(sessions: SessionView[], call: string, report: string): SessionView | null {
  const named = ACCOUNT.exec(report)?.[1];
  return sessions.find((each) => each.id === named || each.parent?.call === call) ?? null;
}

/** The answer, without what it cost. */
export function reported(report: string): string {
  return report.replace(ACCOUNT, "");
}
