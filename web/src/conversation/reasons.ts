/** Why a turn stopped short, as the server writes it: "code: words". */

export type Help = "settings" | "compact" | null;
type Reason = { code: string; words: string; help: Help };

const HELP: Record<string, Help> = {
  "key-refused": "settings",
  "no-credit": "settings",
  "model-unknown": "settings",
  "request-refused": "settings",
  "reply-malformed": "settings",
  "model-unreachable": "settings",
  "config-error": "settings",
  "setting-wrong": "settings",
  "not-found": "settings",
  "context-too-long": "compact",
};

export function reasonOf(text: string | null): Reason | null {
  if (!text) return null;
  const [, code = "", words = text] = /^([a-z][a-z-]*): ([\s\S]*)$/.exec(text) ?? [];
  return { code, words, help: HELP[code] ?? null };
}
