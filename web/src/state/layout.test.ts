import { beforeEach, expect, test, vi } from "vitest";

/** A screen of some width, and a page that was just opened on it. */
async function opened(
  width: number,
): Promise<{ sidebar: boolean; panel: boolean; isNarrow: boolean }> {
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: width <= Number(/\d+/.exec(query)?.[0]),
    addEventListener: () => undefined,
  }));
  vi.resetModules();
  return (await import("./layout.svelte")).layout;
}

beforeEach(() => {
  localStorage.clear();
});

test("a wide screen shows the sessions, and remembers what was chosen", async () => {
  const layout = await opened(1440);
  expect(layout).toMatchObject({ sidebar: true, panel: false });
  layout.sidebar = false;
  layout.panel = true;
  expect(await opened(1440)).toMatchObject({ sidebar: false, panel: true });
});

test("where one pane has room, the other gives way and comes back", async () => {
  const layout = await opened(1024);
  layout.panel = true;
  expect(layout).toMatchObject({ sidebar: false, panel: true });
  layout.panel = false;
  expect(layout).toMatchObject({ sidebar: true, panel: false });
});

test("on a narrow screen panes are drawers: closed at first, one at a time, not remembered", async () => {
  const layout = await opened(390);
  expect(layout).toMatchObject({ isNarrow: true, sidebar: false, panel: false });
  layout.sidebar = true;
  layout.panel = true;
  expect(layout).toMatchObject({ sidebar: false, panel: true });
  expect(await opened(1440)).toMatchObject({ sidebar: true, panel: false });
});
