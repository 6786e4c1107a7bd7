/** Times as people say them, in the language of the browser. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

/** How long ago something was, or how soon it will be; a date if that is far. */
export function ago(at: number, now = Date.now()): string {
  const passed = Math.abs(now - at);
  const sign = at > now ? 1 : -1;
  if (passed < 45 * SECOND) return relative.format(0, "second");
  if (passed < HOUR)
    return relative.format(sign * Math.max(1, Math.round(passed / MINUTE)), "minute");
  if (passed < DAY) return relative.format(sign * Math.round(passed / HOUR), "hour");
  if (passed < 7 * DAY) return relative.format(sign * Math.round(passed / DAY), "day");
  return date(at, now);
}

/** The day, with the year if it is another one. */
export function date(at: number, now = Date.now()): string {
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(undefined, {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at);
}

/** The time of the day. */
export function clock(at: number): string {
  return clockTime.format(at);
}

/** All of it, for who wants to know exactly. */
export function exactly(at: number): string {
  return full.format(at);
}

/** How long something took or takes: "9 s", "2 min 5 s", "1 h 4 min". */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / SECOND));
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return two(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

function two(large: number, unit: string, small: number, smaller: string): string {
  return small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`;
}

/** Midnights between two times, here: 0 is the same day, 1 the day before. */
export function daysBetween(at: number, now: number): number {
  return Math.round((midnight(now) - midnight(at)) / DAY);
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}

/** November, or November 2024 if that is another year. */
export function month(at: number, now = Date.now()): string {
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  const year = sameYear ? {} : ({ year: "numeric" } as const);
  return new Intl.DateTimeFormat(undefined, { month: "long", ...year }).format(at);
}
