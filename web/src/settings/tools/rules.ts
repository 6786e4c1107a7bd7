/** Rules for tools, as people write them: `tool`, or `tool: pattern`. */

import type { Rule } from "../../api/types";

type Parsed = { tool: string; pattern: string | null };

/** Null if the server would refuse it. */
export function parse(text: string): Parsed | null {
  const colon = text.indexOf(":");
  const tool = (colon < 0 ? text : text.slice(0, colon)).trim();
  const pattern = colon < 0 ? "" : text.slice(colon + 1).trim();
  if (!tool || /\s/.test(tool) || (colon >= 0 && !pattern)) return null;
  return { tool, pattern: pattern || null };
}

export function written(rule: Pick<Rule, "tool" | "pattern">): string {
  return rule.pattern === null ? rule.tool : `${rule.tool}: ${rule.pattern}`;
}

/** What a rule is about: a tool, exactly one thing, or what a pattern matches. */
type Reach = "tool" | "exact" | "pattern";

export function reach(rule: Pick<Rule, "pattern">): Reach {
  if (rule.pattern === null) return "tool";
  return rule.pattern.startsWith("=") ? "exact" : "pattern";
}

const ORDER = { deny: 0, ask: 1, allow: 2 } as const;

/** In the order in which they count, the newest first. */
export function ordered(rules: readonly Rule[]): Rule[] {
  return [...rules].sort(
    (a, b) => ORDER[a.decision] - ORDER[b.decision] || (b.created_at ?? 0) - (a.created_at ?? 0),
  );
}
