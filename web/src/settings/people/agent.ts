/** Which browser a sign-in belongs to, in words a person knows it by. */

const BROWSERS: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|HeadlessChrome)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

const SYSTEMS: [RegExp, string][] = [
  [/iPhone/, "iPhone"],
  [/iPad/, "iPad"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

export type Agent = { browser: string | null; system: string | null };

export function agentOf(said: string): Agent {
  const first = (known: [RegExp, string][]): string | null =>
    known.find(([pattern]) => pattern.test(said))?.[1] ?? null;
  return { browser: first(BROWSERS), system: first(SYSTEMS) };
}
