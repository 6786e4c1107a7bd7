import { expect, test } from "vitest";
import { completions, isCommand, modelWanted, parse } from "./commands";

test("a plain word after a slash is a command, a path is not", () => {
  for (const text of ["/", "/new", "/compact the tests", "  /undo  ", "/NEW", "/compact\nthe plan"])
    expect(isCommand(text), text).toBe(true);
  for (const text of ["", "new", "/etc/hosts is wrong", "/2", "a /new", "//", "/new-one"])
    expect(isCommand(text), text).toBe(false);
});

test("what follows the word is the argument, whole", () => {
  expect(parse("/compact keep the  plan\nand tests ")).toEqual({
    name: "compact",
    argument: "keep the  plan\nand tests",
  });
  expect(parse("/Undo")).toEqual({ name: "undo", argument: "" });
});

test("the words of roost chat are known by their other names too", () => {
  expect(parse("/reset")).toEqual({ name: "new", argument: "" });
  expect(parse("/")).toEqual({ name: "help", argument: "" });
});

test("an unknown command names the one that was probably meant", () => {
  expect(parse("/udno")).toContain("/undo");
  expect(parse("/modle gpt")).toContain("/model");
  expect(parse("/xyzzyplugh")).not.toContain("mean");
});

test("completion narrows while the word is typed and ends with it", () => {
  expect(completions("/re")).toEqual(["restore", "retry", "rename"]);
  expect(completions("/")).toContain("help");
  expect(completions("/compact x")).toEqual([]);
  expect(completions("/etc/")).toEqual([]);
});

test("a model is completed after its command only", () => {
  expect(modelWanted("/model cla")).toBe("cla");
  expect(modelWanted("/model ")).toBe("");
  expect(modelWanted("/model")).toBeNull();
  expect(modelWanted("/rename cla")).toBeNull();
});
