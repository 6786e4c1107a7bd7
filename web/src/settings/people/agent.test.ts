import { expect, test } from "vitest";
import { agentOf } from "./agent";

test("browsers that claim to be others are known by their own name", () => {
  const edge =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0";
  expect(agentOf(edge)).toEqual({ browser: "Edge", system: "Windows" });
  const phone =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1";
  expect(agentOf(phone)).toEqual({ browser: "Safari", system: "iPhone" });
});

test("what nobody knows has no name", () => {
  expect(agentOf("curl/8.9")).toEqual({ browser: null, system: null });
});
