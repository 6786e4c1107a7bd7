import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test } from "vitest";
import { Problem } from "../api/client";
import { Outgoing } from "../state/outgoing.svelte";
import Delivery from "./Delivery.svelte";

let end: (() => void) | undefined;

function show(problem: Problem): { words: string; buttons: string[]; alarms: boolean } {
  const wanted = { text: "hello", files: [] };
  const outgoing = new Outgoing({ session: "ses_1", wanted, opening: null, id: "trn_1", at: 0 });
  outgoing.problem = problem;
  const component = mount(Delivery, { target: document.body, props: { outgoing } });
  end = () => void unmount(component);
  flushSync();
  return {
    words: document.body.textContent,
    buttons: [...document.querySelectorAll("button")].map((each) => each.textContent.trim()),
    alarms: document.querySelector("[role=alert]") !== null,
  };
}

afterEach(() => end?.());

test("what goes out by itself says so, raises no alarm, and can be dropped", () => {
  const { words, buttons, alarms } = show(new Problem(0, "Away", "Check the connection."));
  expect(words).toContain("goes out by itself");
  expect(words).not.toContain("Not sent");
  expect(buttons).toEqual(["Drop"]);
  expect(alarms).toBe(false);
});

test("what was refused says why, and waits for someone to try again", () => {
  const { words, buttons, alarms } = show(new Problem(503, "Busy", "The disk is full."));
  expect(words).toContain("Not sent. The disk is full.");
  expect(buttons).toEqual(["Retry", "Drop"]);
  expect(alarms).toBe(true);
});
