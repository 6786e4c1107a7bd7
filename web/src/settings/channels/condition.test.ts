import { expect, test } from "vitest";
import type { ChannelView } from "../../api/types";
import { conditionOf, isSettled } from "./condition";

function channel(change: Partial<ChannelView>): ChannelView {
  const bare = { paused: "no", configured: false, since: 0 } as ChannelView;
  return { ...bare, ...change };
}

test("one that lost its connection says since when, and that it comes back by itself", () => {
  const since = new Date(2026, 10, 15, 12, 4).getTime();
  const said = conditionOf(channel({ condition: "lost", since }), since + 60_000);
  expect(said.tone).toBe("warn");
  expect(said.text).toMatch(/^Reconnecting since 12:04/);
  expect(said.advice).toContain("by itself");
  const later = conditionOf(channel({ condition: "lost", since }), since + 86_400_000);
  expect(later.text).toMatch(/15/);
});

test("one of roost.toml is set right there", () => {
  expect(conditionOf(channel({ condition: "refused" })).advice).toContain("token");
  const fixed = channel({ condition: "refused", configured: true });
  expect(conditionOf(fixed).advice).toContain("roost.toml");
});

test("one that is paused is not just off", () => {
  expect(conditionOf(channel({ condition: "off", paused: "yes" })).text).toBe("Paused");
  expect(conditionOf(channel({ condition: "off" })).text).toBe("Off");
});

test("what connects is waited for", () => {
  expect(isSettled(channel({ condition: "connecting" }))).toBe(false);
  expect(isSettled(channel({ condition: "off" }))).toBe(false);
  expect(isSettled(channel({ condition: "off", paused: "yes" }))).toBe(true);
  expect(isSettled(channel({ condition: "refused" }))).toBe(true);
});
