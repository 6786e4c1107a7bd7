/** What can be done to the session that is shown, beyond what its row in the sidebar offers. */

import Braces from "@lucide/svelte/icons/braces";
import CircleStop from "@lucide/svelte/icons/circle-stop";
import Eraser from "@lucide/svelte/icons/eraser";
import FileDown from "@lucide/svelte/icons/file-down";
import GitBranch from "@lucide/svelte/icons/git-branch";
import PanelRight from "@lucide/svelte/icons/panel-right";
import Shrink from "@lucide/svelte/icons/shrink";
import { call } from "../api/client";
import { clear, compact } from "../conversation/deeds";
import { attempt } from "../lib/attempt";
import { download } from "../lib/export";
import { branch } from "../state/actions";
import { layout } from "../state/layout.svelte";
import { router } from "../state/router.svelte";
import type { OpenSession } from "../state/session.svelte";
import { sessions } from "../state/sessions.svelte";
import { sessionMenu } from "../sidebar/menu";
import { t } from "../text/text";
import type { MenuAction, MenuItem } from "../ui/menu";
import { toast } from "../ui/toasts.svelte";

export function titleMenu(session: OpenSession, rename: () => void): MenuItem[] {
  const { view } = session;
  if (!view) return [];
  const common = sessionMenu(view, rename);
  const end = common.splice(-2);
  const isEmpty = !session.messages.length;
  return [
    ...(layout.isPhone ? [panelItem(), "separator" as const] : []),
    ...common,
    "separator",
    item(t.sidebar.branch, GitBranch, () => branched(session), isEmpty),
    item(t.sidebar.compact, Shrink, () => compact(session), isEmpty),
    item(t.sidebar.clear, Eraser, () => clear(session), isEmpty),
    item(t.sidebar.end, CircleStop, () => ended(session), view.ended_at !== null),
    "separator",
    item(t.sidebar.exportMarkdown, FileDown, () => download(session.id, "markdown")),
    item(t.sidebar.exportJson, Braces, () => download(session.id, "json")),
    ...end,
  ];
}

/** A phone's title bar has no room for a button of its own. */
function panelItem(): MenuItem {
  return {
    label: t.shell.showPanel,
    icon: PanelRight,
    onclick: () => {
      layout.panel = true;
    },
  };
}

function item(
  label: string,
  icon: NonNullable<MenuAction["icon"]>,
  run: () => Promise<void> | void,
  disabled = false,
): MenuItem {
  return { label, icon, disabled, onclick: () => void attempt(Promise.resolve(run())) };
}

async function branched(session: OpenSession): Promise<void> {
  router.open((await branch(session, null)).id);
}

async function ended(session: OpenSession): Promise<void> {
  const path = { session: session.id };
  sessions.took(await call("POST /api/sessions/{session}/end", { path }));
  toast(t.sidebar.ended);
}
