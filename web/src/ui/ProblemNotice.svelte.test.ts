import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, test } from "vitest";
import { asProblem, Problem } from "../api/client";
import ProblemNotice from "./ProblemNotice.svelte";

let end: (() => void) | undefined;

function show(problem: Problem): string {
  const component = mount(ProblemNotice, { target: document.body, props: { problem } });
  end = () => void unmount(component);
  flushSync();
  return document.body.textContent;
}

afterEach(() => end?.());

test("what was refused is told in plain words, not in those of HTTP", () => {
  const words = show(new Problem(400, "Bad Request", "!!! is no language."));
  expect(words).toContain("That was not accepted");
  expect(words).toContain("!!! is no language.");
  expect(words).not.toContain("Bad Request");
});

test("what no server said is told as it is", () => {
  expect(show(asProblem(new Error("x")))).toContain("Something went wrong");
});
