import { expect, test } from "vitest";
import type { When } from "../../api/types";
import { asWhen, entered, fresh, inWords, isWhole, momentIn } from "./when";

const ZONE = "Europe/Zurich";

function cron(spec: string): When {
  return { kind: "cron", spec, time_zone: ZONE };
}

test.each([
  ["30 7 * * *", "daily"],
  ["0 9 * * mon-fri", "weekdays"],
  ["0 9 * * 0", "weekly"],
  ["5 18 31 * *", "monthly"],
])("%s is asked for as %s, and comes back as it was", (spec, repeat) => {
  const given = entered(cron(spec));
  expect(given.repeat).toBe(repeat);
  expect(asWhen(given)).toEqual(cron(spec));
});

test.each(["*/15 * * * *", "0 9 1 * 1", "@daily", "0 9 * 12 *", "0 9 * * mon"])(
  "%s has no words of the form's, and stays as it is written",
  (spec) => {
    const given = entered(cron(spec));
    expect(given.repeat).toBe("cron");
    expect(asWhen(given)).toEqual(cron(spec));
  },
);

test("every so often, and once", () => {
  const often: When = { kind: "every", spec: "30m", time_zone: ZONE };
  expect(asWhen(entered(often))).toEqual(often);
  const once: When = { kind: "once", spec: "2027-01-31T09:00", time_zone: ZONE };
  expect(asWhen(entered(once))).toEqual(once);
});

test("nothing is asked of the server while something is missing", () => {
  const given = fresh(ZONE);
  expect(isWhole(given)).toBe(true);
  expect(isWhole({ ...given, repeat: "once" })).toBe(false);
  expect(isWhole({ ...given, repeat: "every", count: "0" })).toBe(false);
  expect(isWhole({ ...given, repeat: "cron", cron: " " })).toBe(false);
  expect(isWhole({ ...given, time: "" })).toBe(false);
});

test("it is said in words, with the zone if that is another", () => {
  expect(inWords(cron("30 7 * * *"), ZONE)).toMatch(/^Every day at 0?7:30/);
  expect(inWords(cron("30 7 * * 3"), "UTC")).toMatch(/^Every Wednesday at .* \(Europe\/Zurich\)$/);
  expect(inWords({ kind: "every", spec: "1h", time_zone: ZONE }, "UTC")).toBe("Every hour");
  expect(inWords({ kind: "every", spec: "90m", time_zone: ZONE }, "UTC")).toBe("Every 90 minutes");
  expect(inWords(cron("*/15 * * * *"), ZONE)).toBe("By cron: */15 * * * *");
});

test("a time with an offset is that moment, by the clock of the schedule's zone", () => {
  const once = (spec: string): string => inWords({ kind: "once", spec, time_zone: ZONE }, ZONE);
  expect(once("2027-01-31T09:00")).toMatch(/9:00/);
  expect(once("2027-01-31T09:00+00:00")).toMatch(/10:00/);
});

test("a moment is told by the clock and the calendar of the reader's zone", () => {
  const now = Date.parse("2026-11-15T22:30:00Z"); // half past eleven in Zurich
  const at = Date.parse("2026-11-16T06:00:00Z");
  expect(momentIn(at, ZONE, now)).toMatch(/^tomorrow at 0?7:00/);
  expect(momentIn(at, "Asia/Tokyo", now)).toMatch(/^today at 0?3:00/);
  expect(momentIn(at + 5 * 86_400_000, ZONE, now)).toMatch(/21.* at 0?7:00/);
  expect(momentIn(now - 86_400_000, ZONE, now)).toMatch(/^yesterday at/);
});
