import { afterEach, describe, expect, it, vi } from "vitest";
import { isReplaced } from "./offline";

const PAGE = '<script type="module" src="/assets/index-new.js"></script>';

function server(answer: () => Promise<Response>) {
  vi.stubGlobal("fetch", answer);
}

describe("an app whose part is missing", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("is replaced if the server's page asks for another script", async () => {
    server(async () => new Response(PAGE));
    expect(await isReplaced("/assets/index-old.js")).toBe(true);
  });

  it("is the newest if the server's page asks for its script", async () => {
    server(async () => new Response(PAGE));
    expect(await isReplaced("/assets/index-new.js")).toBe(false);
  });

  it("stays while the server can't be reached or is in trouble", async () => {
    server(() => Promise.reject(new TypeError("no network")));
    expect(await isReplaced("/assets/index-old.js")).toBe(false);
    server(async () => new Response("starting", { status: 503 }));
    expect(await isReplaced("/assets/index-old.js")).toBe(false);
  });
});
