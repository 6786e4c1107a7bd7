import { expect, test } from "vitest";
import type { Rule } from "../../api/types";
import { ordered, parse, reach, written } from "./rules";

test("a rule is a tool, with a pattern or without", () => {
  expect(parse(" browser ")).toEqual({ tool: "browser", pattern: null });
  expect(parse("terminal: git log *")).toEqual({ tool: "terminal", pattern: "git log *" });
  expect(parse("fetch: https://example.com/*")).toEqual({
    tool: "fetch",
    pattern: "https://example.com/*",
  });
});

test("what the server would refuse is no rule", () => {
  for (const text of ["", ": ls", "terminal:", "git status"]) expect(parse(text)).toBeNull();
});

test("a rule is written as it is read", () => {
  expect(written({ tool: "terminal", pattern: "ls" })).toBe("terminal: ls");
  expect(reach({ pattern: "=ls -l" })).toBe("exact");
  expect(reach({ pattern: null })).toBe("tool");
});

test("no goes before a question, and a question before yes", () => {
  const rule = (id: string, decision: Rule["decision"], created_at: number): Rule => ({
    id,
    tool: "terminal",
    pattern: null,
    decision,
    created_at,
  });
  const rules = [
    rule("a", "allow", 9),
    rule("b", "deny", 1),
    rule("c", "ask", 2),
    rule("d", "deny", 3),
  ];
  expect(ordered(rules).map((each) => each.id)).toEqual(["d", "b", "c", "a"]);
});
