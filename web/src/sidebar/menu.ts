/** What can be done to a session, wherever it is named. */

import Archive from "@lucide/svelte/icons/archive";
import ArchiveRestore from "@lucide/svelte/icons/archive-restore";
import Folder from "@lucide/svelte/icons/folder";
import Pencil from "@lucide/svelte/icons/pencil";
import Pin from "@lucide/svelte/icons/pin";
import PinOff from "@lucide/svelte/icons/pin-off";
import Trash from "@lucide/svelte/icons/trash-2";
import type { SessionView } from "../api/types";
import { attempt } from "../lib/attempt";
import { sessions } from "../state/sessions.svelte";
import { t } from "../text/text";
import type { MenuItem } from "../ui/menu";
import { sidebar } from "./sidebar.svelte";

export function sessionMenu(session: SessionView, rename: () => void): MenuItem[] {
  return [
    { label: t.sidebar.rename, icon: Pencil, onclick: rename },
    pinItem(session),
    {
      label: t.sidebar.project,
      icon: Folder,
      onclick: () => {
        sidebar.moving = session;
      },
    },
    archiveItem(session),
    "separator",
    {
      label: t.sidebar.delete,
      icon: Trash,
      danger: true,
      onclick: () => {
        sidebar.delete(session);
      },
    },
  ];
}

function pinItem(session: SessionView): MenuItem {
  const { pinned } = session;
  return {
    label: pinned ? t.sidebar.unpin : t.sidebar.pin,
    icon: pinned ? PinOff : Pin,
    onclick: () => void attempt(sessions.change(session.id, { pinned: !pinned })),
  };
}

function archiveItem(session: SessionView): MenuItem {
  if (!session.archived) {
    const archive = (): void => void attempt(sidebar.archive(session));
    return { label: t.sidebar.archiveIt, icon: Archive, onclick: archive };
  }
  const back = (): void => void attempt(sessions.change(session.id, { archived: false }));
  return { label: t.sidebar.unarchive, icon: ArchiveRestore, onclick: back };
}
