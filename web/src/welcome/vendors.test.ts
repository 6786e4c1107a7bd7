import { expect, test } from "vitest";
import { asProvider, type Entered, freshName, missing, needsKey, VENDORS } from "./vendors";

const entered: Entered = { vendor: "openai", name: "openai", address: "", key: "k", models: "" };

test("a key is asked for where one is needed", () => {
  expect(missing({ ...entered, key: " " }, null).key).toBeTruthy();
  expect(missing({ ...entered, vendor: "ollama", key: "" }, null)).toEqual({});
  expect(VENDORS.filter(needsKey)).toContain("anthropic");
});

test("a server of one's own needs an address", () => {
  expect(missing({ ...entered, vendor: "compatible", key: "" }, null).address).toBeTruthy();
  expect(missing({ ...entered, vendor: "compatible", address: "http://a/v1" }, null)).toEqual({});
});

test("a name is one that the server takes", () => {
  for (const name of ["", "Mine", "my server", "a/b", "-a"])
    expect(missing({ ...entered, name }, null).name, name).toBeTruthy();
  expect(missing({ ...entered, name: "my-server_2" }, null)).toEqual({});
});

test("only what was entered is sent", () => {
  expect(asProvider({ ...entered, key: " k " })).toEqual({ vendor: "openai", key: "k" });
  expect(asProvider({ ...entered, key: "", models: "a, b\n c" })).toEqual({
    vendor: "openai",
    models: ["a", "b", "c"],
  });
});

test("a second one of a vendor gets a name of its own", () => {
  expect(freshName("openai", ["openai", "openai-2"])).toBe("openai-3");
  expect(freshName("openai", [])).toBe("openai");
});
