import { expect, test } from "vitest";
import { placed, platform } from "./places";

test("a place is called by its platform and who is there", () => {
  expect(placed("telegram:dm:42", "Ada")).toBe("Telegram · Ada");
  expect(placed("telegram:group:-100:topic:7", "Birds")).toBe("Telegram · Birds");
});

test("where nobody knows a name, it is called by what it is", () => {
  expect(placed("telegram:dm:42")).toBe("Telegram · direct message");
  expect(placed("telegram:group:-100:topic:7", null)).toBe("Telegram · topic");
  expect(placed("discord:guild:1:channel:2:thread:3")).toBe("Discord · thread");
  expect(placed("slack:team:T1:dm:D2")).toBe("Slack · direct message");
  expect(placed("desk:other:9")).toBe("desk · conversation");
});

test("a channel with a name of its own keeps it", () => {
  expect(platform("slack")).toBe("Slack");
  expect(platform("desk")).toBe("desk");
});
