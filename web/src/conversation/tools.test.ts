import { expect, test } from "vitest";
import { phrase, pretty } from "./tools";

const said = (name: string, given: object): string => {
  const { done, object } = phrase(name, JSON.stringify(given));
  return `${done} ${object}`.trim();
};

test("tools are told in words", () => {
  expect(said("terminal", { command: "npm test" })).toBe("Ran npm test");
  expect(said("terminal", { command: "serve", background: true })).toBe("Started serve");
  expect(said("read_file", { path: "src/x.py" })).toBe("Read src/x.py");
  expect(said("find_files", { pattern: "*.py", path: "src" })).toBe("Looked for files *.py in src");
  expect(said("web_search", { query: "owls" })).toBe("Searched the web for owls");
  expect(said("browser", { action: "open", url: "http://a.b" })).toBe("Opened http://a.b");
  expect(said("browser", { action: "tab", tab: 2 })).toBe("Went to tab 2");
  expect(said("processes", { action: "kill", id: "p1" })).toBe("Ended process p1");
  expect(said("todo", { items: [{ text: "a", state: "done" }, { text: "b" }] })).toBe(
    "Updated the plan 1 of 2 done",
  );
});

test("tools that nobody knows are used, those of a server with its name", () => {
  expect(said("frobnicate", { a: 1 })).toBe("Used frobnicate");
  expect(said("mcp_github_list_issues", {})).toBe("Used list issues of github");
  expect(said("browser", { action: "dance" })).toBe("Used");
});

test("what is still being written shows as much as can be read", () => {
  expect(phrase("write_file", '{"path": "a \\"b\\".py", "content": "def').object).toBe('a "b".py');
  expect(phrase("terminal", '{"comm').object).toBe("");
});

test("long and broken objects become one short line", () => {
  expect(phrase("terminal", JSON.stringify({ command: "a\n\nb" })).object).toBe("a b");
  expect(phrase("terminal", JSON.stringify({ command: "x".repeat(1e6) })).object.length).toBe(301);
  expect(phrase("todo", "[]").object).toBe("");
  const question = JSON.stringify({ question: "## Which of the **two** in `a_b`?" });
  expect(phrase("ask_user", question).object).toBe("Which of the two in a_b?");
});

test("arguments are indented, unless they are no JSON", () => {
  expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(pretty('{"a":')).toBe('{"a":');
});
