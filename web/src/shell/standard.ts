/** The commands that are always there. */

import { attempt } from "../lib/attempt";
import { cancel } from "../state/actions";
import { layout } from "../state/layout.svelte";
import { opened } from "../state/opened.svelte";
import { router } from "../state/router.svelte";
import { sessions } from "../state/sessions.svelte";
import { settings } from "../state/settings.svelte";
import { rowsOf } from "../sidebar/rows";
import { sidebar } from "../sidebar/sidebar.svelte";
import { t } from "../text/text";
import { type Command, focusComposer, newChat } from "./commands.svelte";

const words = t.shell.commands;

export const standard: Command[] = [
  { id: "new", label: words.newChat, keys: "mod+shift+o", run: newChat },
  {
    id: "palette",
    label: words.palette,
    keys: "mod+k",
    run: () => {
      layout.overlay = layout.overlay === "palette" ? null : "palette";
    },
  },
  { id: "search", label: words.search, keys: "mod+shift+f", run: search },
  { id: "composer", label: words.composer, keys: "/", when: isChat, run: focusComposer },
  {
    id: "next",
    label: words.next,
    keys: "alt+arrowdown",
    run: () => {
      step(1);
    },
  },
  {
    id: "previous",
    label: words.previous,
    keys: "alt+arrowup",
    run: () => {
      step(-1);
    },
  },
  { id: "stop", label: words.stop, keys: "mod+.", when: isBusy, run: stop },
  {
    id: "sidebar",
    label: words.sidebar,
    keys: "mod+b",
    run: () => {
      layout.sidebar = !layout.sidebar;
    },
  },
  {
    id: "panel",
    label: words.panel,
    keys: "mod+i",
    when: () => router.session !== null,
    run: () => {
      layout.panel = !layout.panel;
    },
  },
  {
    id: "settings",
    label: words.settings,
    keys: "mod+,",
    run: () => {
      router.go({ page: "settings", section: "models" });
      layout.closeDrawers();
    },
  },
  { id: "theme", label: words.theme, keys: "mod+shift+l", run: switchTheme },
  {
    id: "help",
    label: words.help,
    keys: "?",
    run: () => {
      layout.overlay = "help";
    },
  },
  { id: "pin", label: words.pin, when: isKnown, run: pin },
  { id: "archive", label: words.archive, when: isKnown, run: archive },
  {
    id: "archive-view",
    label: words.archiveView,
    run: () => {
      sidebar.isArchive = true;
      layout.sidebar = true;
    },
  },
];

function isChat(): boolean {
  return router.place.page === "chat";
}

function isBusy(): boolean {
  return !!opened.session?.current;
}

function isKnown(): boolean {
  return !!opened.session?.view;
}

function stop(): void {
  const { session } = opened;
  if (session?.current) void attempt(cancel(session, session.current.id));
}

function search(): void {
  layout.sidebar = true;
  requestAnimationFrame(() => document.getElementById("sidebar-search")?.focus());
}

/** To the neighbour of the session that is shown, in the order of the sidebar. */
function step(by: 1 | -1): void {
  const all = rowsOf(
    sessions.open.sessions.filter((each) => !sidebar.deleted.has(each.id)),
    { asking: sessions.asking, folded: sidebar.folded, now: Date.now() },
  ).filter((row) => row.kind === "session");
  const at = all.findIndex((row) => row.key === router.session);
  const goal = at < 0 ? all[by > 0 ? 0 : all.length - 1] : all[at + by];
  if (goal) router.open(goal.key);
}

function switchTheme(): void {
  const isDark = document.documentElement.dataset["theme"] === "dark";
  void attempt(settings.setAppearance("theme", isDark ? "light" : "dark"));
}

function pin(): void {
  const view = opened.session?.view;
  if (view) void attempt(sessions.change(view.id, { pinned: !view.pinned }));
}

function archive(): void {
  const view = opened.session?.view;
  if (view) void attempt(sidebar.archive(view));
}
