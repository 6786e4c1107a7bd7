import { expect, test } from "vitest";
import type { ChannelView } from "../../api/types";
import { asChannel, begun, fieldsOf, freshName, missing, unchanged } from "./platforms";

const channel: ChannelView = {
  name: "slack",
  kind: "slack",
  configured: false,
  groups: "all",
  members: "paired",
  sessions: "user",
  reset: "idle 2h",
  allow: ["1"],
  block: [],
  paused: "yes",
  options: ["app_token", "token"],
  condition: "connected",
  since: 0,
  bot: null,
  detail: null,
  received: 0,
  waiting: 0,
  undelivered: 0,
};

test("a token is asked for, unless it is set already", () => {
  expect(missing(begun("telegram", "telegram", null), null, [])).toHaveProperty("token");
  expect(missing(begun("slack", "slack", channel), channel, ["slack"])).toEqual({});
});

test("of Slack's two ways one is needed", () => {
  const entered = begun("slack", "slack", null);
  entered.values["token"] = "xoxb-1";
  expect(Object.keys(missing(entered, null, []))).toEqual(["app_token", "signing_secret"]);
  entered.values["signing_secret"] = "s";
  expect(missing(entered, null, [])).toEqual({});
});

test("what is taken out is missed where it is needed", () => {
  const entered = begun("slack", "slack", channel);
  entered.out = ["app_token"];
  expect(Object.keys(missing(entered, channel, []))).toEqual(["app_token", "signing_secret"]);
});

test("a name is one that the server takes, and nobody else has", () => {
  for (const name of ["", "My bot", "-a", "b".repeat(33), "desk"]) {
    const entered = begun("webhook", name, null);
    expect(missing(entered, null, ["desk"]), name).toHaveProperty("name");
  }
  expect(freshName("telegram", ["telegram"])).toBe("telegram-2");
});

test("options that were not touched are not sent", () => {
  const entered = begun("slack", "slack", channel);
  expect(asChannel(entered, channel)).toEqual(unchanged(channel));
  entered.values["token"] = " xoxb-2 ";
  entered.out = ["app_token"];
  expect(asChannel(entered, channel).options).toEqual({ token: "xoxb-2", app_token: null });
});

test("when a conversation begins anew is kept as it was, or changed", () => {
  const entered = begun("slack", "slack", channel);
  expect(entered.rule).toBe("idle");
  entered.rule = "daily";
  expect(asChannel(entered, channel).reset).toBe("daily 04:00");
});

test("options of a platform that a package brings are written by hand", () => {
  expect(fieldsOf("spool")).toEqual([]);
  const entered = begun("spool", "spool", null);
  entered.written = "folder = /tmp/a=b\n\nold=\n";
  expect(asChannel(entered, null).options).toEqual({ folder: "/tmp/a=b", old: null });
});
