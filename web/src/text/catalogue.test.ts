import { expect, test } from "vitest";
import { en } from "./en";

const files = import.meta.glob<string>(["../**/*.{ts,svelte}", "!../**/*.test.ts", "!./*"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const sources = Object.entries(files);

function at(path: string): unknown {
  const names = path ? path.split(".") : [];
  return names.reduce<unknown>((found, name) => (found as Record<string, unknown>)?.[name], en);
}

function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Names of all words below a group; a list is one. */
function leaves(path: string): string[] {
  const value = at(path);
  if (!isGroup(value) || Array.isArray(value)) return [path];
  return Object.keys(value).flatMap((key) => leaves(path ? `${path}.${key}` : key));
}

/** Which words a file names, by `t` or by another name that it gave to a part of it. */
function usedIn(source: string): string[] {
  const names = new Map([["t", ""]]);
  const given = /const (\w+) = (?:\$derived\()?t\.([\w.]+)\)?;/g;
  for (const [, name = "", path = ""] of source.matchAll(given)) {
    if (isGroup(at(path))) names.set(name, path);
  }
  const code = source.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$|<!--[^]*?-->/gm, "");
  const rest = code.replace(given, (whole, _, path: string) => (isGroup(at(path)) ? "" : whole));
  return [...names].flatMap(([name, path]) => {
    const named = rest.matchAll(new RegExp(`(?<![\\w.$])${name}(?=[.[])((?:\\.\\w+)*)`, "g"));
    return [...named].flatMap(([, more = ""]) => resolved(path, more.split(".").filter(Boolean)));
  });
}

/** What is named as a group (to be indexed, or walked) is used as a whole. */
function resolved(from: string, names: string[]): string[] {
  let path = from;
  for (const name of names) {
    const value = at(path);
    if (!isGroup(value) || !Object.hasOwn(value, name)) break;
    path = path ? `${path}.${name}` : name;
  }
  return path ? leaves(path) : [];
}

test("every word of the catalogue is on the screen somewhere", () => {
  const used = new Set(sources.flatMap(([, source]) => usedIn(source)));
  expect(leaves("").filter((path) => !used.has(path))).toEqual([]);
});

/** The markup of a component, without what it computes. */
function markup(source: string): string {
  let text = source.replace(/<(script|style)[^]*?<\/\1>|<!--[^]*?-->/g, "");
  for (let before = ""; before !== text;) {
    before = text;
    text = text.replace(/\{[^{}]*\}/g, "\u0000");
  }
  return text;
}

const SPOKEN = /\b(?:aria-label|title|placeholder|alt|label|hint)="[^"]*[a-z]{2}[^"]*"/gi;

test("no component has words of its own", () => {
  const own = sources.flatMap(([file, source]) => {
    if (!file.endsWith(".svelte")) return [];
    const html = markup(source);
    const text = html.replace(/<[^>]*>/g, "\n").match(/[A-Za-z]{2,}.*/g) ?? [];
    return [...text, ...(html.match(SPOKEN) ?? [])].map((words) => `${file}: ${words}`);
  });
  expect(own).toEqual([]);
});

test("nothing is said or announced but words of the catalogue", () => {
  const said = /\b(?:toast|announce)\(\s*["'`][^)]*|\b(?:label|title|hint): ["'`][A-Z][^"'`]*/g;
  const own = sources.flatMap(([file, source]) =>
    (source.match(said) ?? []).map((words) => `${file}: ${words}`),
  );
  expect(own).toEqual([]);
});
