/** A tool call in words: what is done, to what. */

import { t } from "../text/text";

type Phrase = {
  does: string;
  doing: string;
  done: string;
  object: string;
  /** Letter by letter: a command, a path. */
  mono: boolean;
};

type Given = Record<string, unknown>;
type Verb = { does: string; doing: string; done: string };
const words = t.conversation.tools;

/** What stands for the whole of a call, by tool; the first that is there. */
const OBJECTS: Record<string, string[]> = {
  terminal: ["command"],
  processes: ["id"],
  read_file: ["path"],
  write_file: ["path"],
  edit_file: ["path"],
  apply_patch: ["path"],
  find_files: ["pattern"],
  search_files: ["regex"],
  send_file: ["path"],
  fetch: ["url"],
  web_search: ["query"],
  session_search: ["query"],
  browser: ["url", "text", "ref", "tab"],
  memory: ["text"],
  ask_user: ["question"],
  delegate: ["task"],
};

const IN_WORDS = new Set([
  "web_search",
  "session_search",
  "memory",
  "ask_user",
  "delegate",
  "todo",
]);
const LONGEST = 300;

/** `text` may be JSON that is still being written. */
export function phrase(name: string, text: string): Phrase {
  const given = argumentsOf(text, OBJECTS[name] ?? []);
  const object = short(objectOf(name, given));
  return { ...verbOf(name, given), object, mono: !IN_WORDS.has(name) && !name.startsWith("mcp_") };
}

/** Without the marks of Markdown that a line of words has no use for. */
function unmarked(text: string): string {
  return text.replace(/\*\*|`|^#+ /gm, "");
}

function verbOf(name: string, given: Given): Verb {
  switch (name) {
    case "terminal":
      return given["background"] === true ? words.start : words.terminal;
    case "session_search":
      return given["query"] ? words.session_search : words.past_session;
    case "processes":
      return words.processes[given["action"] as keyof typeof words.processes] ?? words.other;
    case "browser":
      return words.browser[given["action"] as keyof typeof words.browser] ?? words.other;
    case "memory":
      return words.memory[given["action"] as keyof typeof words.memory] ?? words.other;
    case "read_file":
    case "write_file":
    case "edit_file":
    case "apply_patch":
    case "find_files":
    case "search_files":
    case "send_file":
    case "fetch":
    case "web_search":
    case "todo":
    case "ask_user":
    case "delegate":
      return words[name];
    default:
      return words.other;
  }
}

function objectOf(name: string, given: Given): string {
  if (name === "todo") return planned(given["items"]);
  if (name.startsWith("mcp_")) return ofServer(name);
  const known = OBJECTS[name];
  if (!known) return name;
  const said = known.map((each) => plain(given[each])).find(Boolean) ?? "";
  const object = name === "ask_user" || name === "delegate" ? unmarked(said) : said;
  const folder = plain(given["path"]);
  const inside = name === "find_files" || name === "search_files";
  return inside && folder && folder !== "." ? words.inFolder(object || "*", folder) : object;
}

function planned(items: unknown): string {
  if (!Array.isArray(items)) return "";
  const done = items.filter((each: { state?: unknown } | null) => each?.state === "done").length;
  return words.planned(done, items.length);
}

/** `mcp_<server>_<tool>`: where the one ends and the other begins, nobody can tell for sure. */
function ofServer(name: string): string {
  const [, server = "", tool = ""] = /^mcp_([^_]+)_(.+)$/.exec(name) ?? [];
  return tool ? words.of(tool.replaceAll("_", " "), server) : name;
}

function plain(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "number" ? String(value) : "";
}

function short(text: string): string {
  const line = text
    .slice(0, 2 * LONGEST)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** What of the arguments can be read so far. */
export function argumentsOf(text: string, wanted: string[] = []): Given {
  const whole = parsed(text);
  if (whole) return whole;
  const found: Given = {};
  for (const name of [...wanted, "action"]) {
    const value = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(text)?.[1];
    const read = value && parsed(`{"it":${value}}`);
    if (read) found[name] = read["it"];
  }
  return found;
}

function parsed(text: string): Given | null {
  if (!text.startsWith("{") || !text.trimEnd().endsWith("}")) return null;
  try {
    return JSON.parse(text) as Given;
  } catch {
    return null;
  }
}

/** Arguments for people: indented, or as they came if they are no JSON. */
export function pretty(text: string): string {
  const whole = parsed(text);
  return whole ? JSON.stringify(whole, null, 2) : text;
}
