/** When a schedule runs: as the form asks for it, as the server takes it, and as people say it. */

import type { GivenWhen, When } from "../../api/types";
import { t } from "../../text/text";

const words = t.schedules;

export type Repeat = keyof typeof words.form.repeat;
export type Unit = keyof typeof words.form.units;

export type Entered = {
  repeat: Repeat;
  time: string;
  weekday: string;
  day: string;
  count: string;
  unit: Unit;
  date: string;
  cron: string;
  zone: string;
};

export const WEEKDAYS = ["1", "2", "3", "4", "5", "6", "0"] as const;

const FRESH = {
  repeat: "daily",
  time: "09:00",
  weekday: "1",
  day: "1",
  count: "1",
  unit: "h",
  date: "",
  cron: "0 9 * * mon-fri",
} as const;

export function fresh(zone: string): Entered {
  return { ...FRESH, zone };
}

/** A cron expression that the form has words for; others stay as they are written. */
const SIMPLE = /^(\d{1,2}) (\d{1,2}) (\*|\d{1,2}) \* (\*|mon-fri|1-5|[0-6])$/i;

export function entered(when: When): Entered {
  const base = { ...fresh(when.time_zone), cron: when.spec };
  if (when.kind === "once") return { ...base, repeat: "once", date: when.spec.slice(0, 16) };
  if (when.kind === "every") {
    const [, count = "1", unit = "h"] = /^(\d+)([mhd])$/.exec(when.spec) ?? [];
    return { ...base, repeat: "every", count, unit: unit as Unit };
  }
  const [, minute = "", hour = "", day = "", weekday = ""] = SIMPLE.exec(when.spec) ?? [];
  if (!minute || (day !== "*" && weekday !== "*")) return { ...base, repeat: "cron" };
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (day !== "*") return { ...base, repeat: "monthly", time, day };
  if (weekday === "*") return { ...base, repeat: "daily", time };
  if (/-/.test(weekday)) return { ...base, repeat: "weekdays", time };
  return { ...base, repeat: "weekly", time, weekday };
}

export function asWhen(given: Entered): GivenWhen {
  const { repeat, zone: time_zone } = given;
  if (repeat === "every") {
    return { kind: "every", spec: `${Number(given.count)}${given.unit}`, time_zone };
  }
  if (repeat === "once") return { kind: "once", spec: given.date, time_zone };
  return { kind: "cron", spec: expression(given), time_zone };
}

function expression({ repeat, time, day, weekday, cron }: Entered): string {
  if (repeat === "cron") return cron.trim();
  const [hour, minute] = time.split(":").map(Number);
  const days = { daily: "*", weekdays: "mon-fri", weekly: weekday, monthly: "*" };
  const on = days[repeat as keyof typeof days];
  return `${minute} ${hour} ${repeat === "monthly" ? day : "*"} * ${on}`;
}

/** Whether there is enough to ask the server about. */
export function isWhole(given: Entered): boolean {
  const { repeat, time, count, date, cron } = given;
  if (repeat === "every") return /^[1-9]\d{0,5}$/.test(count.trim());
  if (repeat === "once") return !!date;
  return repeat === "cron" ? !!cron.trim() : /^\d\d:\d\d/.test(time);
}

/** In words; a zone is named if it is not the one that the reader lives in. */
export function inWords(when: When, zone: string): string {
  const said = plain(when);
  const isElsewhere = when.kind !== "every" && when.time_zone !== zone;
  return isElsewhere ? words.inZone(said, when.time_zone) : said;
}

function plain(when: When): string {
  const given = entered(when);
  const time = shown(given.time);
  switch (given.repeat) {
    case "every":
      return words.every(Number(given.count), given.unit);
    case "once":
      return words.once(wall(when));
    case "daily":
      return words.daily(time);
    case "weekdays":
      return words.weekdays(time);
    case "weekly":
      return words.weekly(weekdayName(given.weekday), time);
    case "monthly":
      return words.monthly(given.day, time);
    case "cron":
      return ["@hourly", "0 * * * *"].includes(when.spec) ? words.hourly : words.cron(when.spec);
  }
}

/** A time of the day as the reader's language writes it. */
function shown(time: string): string {
  return new Intl.DateTimeFormat(undefined, { timeStyle: "short", timeZone: "UTC" }).format(
    Date.parse(`2026-01-01T${time}Z`),
  );
}

/** What a wall clock shows, wherever it hangs. */
function wall({ spec, time_zone }: When): string {
  const isExact = /(Z|[+-]\d\d:?\d\d)$/.test(spec);
  const at = Date.parse(isExact ? spec : `${spec.slice(0, 16).replace(" ", "T")}Z`);
  if (Number.isNaN(at)) return spec;
  return new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
    timeZone: isExact ? time_zone : "UTC",
  }).format(at);
}

export function weekdayName(weekday: string): string {
  // The 4th of January 2026 was a Sunday.
  const at = Date.UTC(2026, 0, 4 + Number(weekday));
  return new Intl.DateTimeFormat(undefined, { weekday: "long", timeZone: "UTC" }).format(at);
}

/** A moment by the clock of a zone: "tomorrow at 07:00". */
export function momentIn(at: number, zone: string, now = Date.now()): string {
  const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short", timeZone: zone }).format(
    at,
  );
  const days = dayIn(at, zone) - dayIn(now, zone);
  if (days === 0) return words.today(time);
  if (days === 1) return words.tomorrow(time);
  if (days === -1) return words.yesterday(time);
  return words.on(named(at, zone, now), time);
}

function named(at: number, zone: string, now: number): string {
  const options = { weekday: "short", day: "numeric", month: "short", timeZone: zone } as const;
  const isFar = Math.abs(at - now) > 300 * 86_400_000;
  return new Intl.DateTimeFormat(undefined, {
    ...options,
    ...(isFar ? { year: "numeric" as const } : {}),
  }).format(at);
}

/** The number of the day that a zone's calendar shows. */
function dayIn(at: number, zone: string): number {
  const text = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(at);
  return Date.parse(`${text}T00:00Z`) / 86_400_000;
}
