import { afterEach, expect, test, vi } from "vitest";
import { Problem } from "../api/client";
import { fetchAhead, part } from "./parts";

const gone = (): Promise<never> => Promise.reject(new TypeError("Failed to fetch"));
const anew = vi.fn();

afterEach(() => {
  vi.unstubAllGlobals();
  anew.mockReset();
});

test("a part that does not come while the server is away says so, however often it is tried", async () => {
  vi.stubGlobal("fetch", gone);
  for (const again of [undefined, anew]) {
    const problem = await part(gone, again).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(Problem);
    expect((problem as Problem).isOffline).toBe(true);
  }
  expect(anew).not.toHaveBeenCalled();
});

test("with the server back, trying once more asks for a new page if the browser asks no more", async () => {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("the page")));
  await expect(part(gone)).rejects.toThrow("Failed to fetch");
  expect(anew).not.toHaveBeenCalled();
  await expect(part(gone, anew)).rejects.toThrow("Failed to fetch");
  expect(anew).toHaveBeenCalledOnce();
});

test("parts are fetched ahead one after the other, until one does not come", async () => {
  const asked: string[] = [];
  const come = (name: string) => () => Promise.resolve(asked.push(name));
  await fetchAhead([come("one"), come("two"), gone, come("four")]);
  expect(asked).toEqual(["one", "two"]);
});
