/** Colours for code, by highlight.js; each language is loaded when a block of it is shown. */

import type { HLJSApi, LanguageFn } from "highlight.js";
import { markControls } from "./controls";

/** Longer code stays plain: colouring it would hold up the page. */
export const LONGEST = 50_000;
const MOST_KEPT = 300;

type Loaded = Promise<{ default: LanguageFn }>;

const LANGUAGES: Record<string, () => Loaded> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  dockerfile: () => import("highlight.js/lib/languages/dockerfile"),
  go: () => import("highlight.js/lib/languages/go"),
  graphql: () => import("highlight.js/lib/languages/graphql"),
  ini: () => import("highlight.js/lib/languages/ini"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  kotlin: () => import("highlight.js/lib/languages/kotlin"),
  lua: () => import("highlight.js/lib/languages/lua"),
  makefile: () => import("highlight.js/lib/languages/makefile"),
  markdown: () => import("highlight.js/lib/languages/markdown"),
  nginx: () => import("highlight.js/lib/languages/nginx"),
  php: () => import("highlight.js/lib/languages/php"),
  powershell: () => import("highlight.js/lib/languages/powershell"),
  python: () => import("highlight.js/lib/languages/python"),
  r: () => import("highlight.js/lib/languages/r"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  scss: () => import("highlight.js/lib/languages/scss"),
  sql: () => import("highlight.js/lib/languages/sql"),
  swift: () => import("highlight.js/lib/languages/swift"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

/** Other names of languages, and endings of files. */
const ALIASES: Record<string, string> = {
  bat: "powershell", cc: "cpp", cs: "csharp", "c++": "cpp", "c#": "csharp", cfg: "ini", cjs: "javascript",
  conf: "ini", console: "bash", docker: "dockerfile", golang: "go", gql: "graphql", h: "c", hpp: "cpp",
  htm: "xml", html: "xml", js: "javascript", jsonc: "json", jsonl: "json", jsx: "javascript", kt: "kotlin",
  make: "makefile", md: "markdown", mjs: "javascript", mk: "makefile", mts: "typescript", patch: "diff",
  ps1: "powershell", py: "python", python3: "python", pyi: "python", rb: "ruby", rs: "rust", sass: "scss",
  sh: "bash", shell: "bash", svelte: "xml", svg: "xml", toml: "ini", ts: "typescript", tsx: "typescript",
  vue: "xml", yml: "yaml", zsh: "bash",
}; // prettier-ignore

/** The language that a name (`py`, `Python`) or the name of a file (`src/main.py`) stands for. */
export function languageOf(name: string): string | undefined {
  const last = name.toLowerCase().split("/").pop() ?? "";
  for (const key of [last, last.split(".").pop() ?? ""]) {
    const language = ALIASES[key] ?? key;
    if (Object.hasOwn(LANGUAGES, language)) return language;
  }
  return undefined;
}

let core: Promise<HLJSApi> | undefined;
const kept = new Map<string, string>();

/** Code as HTML of spans with classes, if it was coloured a short time ago. */
export function highlighted(code: string, name: string): string | undefined {
  return kept.get(keyOf(code, name));
}

/** Code as HTML of spans with classes; nothing if the language is unknown or the code is long. */
export async function highlight(code: string, name: string): Promise<string | undefined> {
  const language = languageOf(name);
  if (!language || code.length > LONGEST) return undefined;
  const known = highlighted(code, name);
  if (known !== undefined) return known;
  const engine = await load(language);
  const html = engine.highlight(code, { language, ignoreIllegals: true }).value;
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(keyOf(code, name), html);
  return html;
}

/** Colours what an element of code holds, unless that has changed meanwhile. */
export async function colour(element: HTMLElement, name: string): Promise<void> {
  const code = element.textContent ?? "";
  const html = highlighted(code, name) ?? (await highlight(code, name));
  if (html === undefined || element.textContent !== code) return;
  element.innerHTML = html;
  markControls(element);
}

async function load(language: string): Promise<HLJSApi> {
  core ??= import("highlight.js/lib/core").then((module) => module.default);
  const [engine, grammar] = await Promise.all([core, LANGUAGES[language]!()]);
  if (!engine.getLanguage(language)) engine.registerLanguage(language, grammar.default);
  return engine;
}

function keyOf(code: string, name: string): string {
  return `${languageOf(name)}\n${code}`;
}
