/** The pages of the settings, in the order of their list. Each is loaded when it is opened. */

import Activity from "@lucide/svelte/icons/chart-column";
import Brain from "@lucide/svelte/icons/brain";
import CalendarClock from "@lucide/svelte/icons/calendar-clock";
import CircleUser from "@lucide/svelte/icons/circle-user";
import Cpu from "@lucide/svelte/icons/cpu";
import Import from "@lucide/svelte/icons/smartphone";
import Info from "@lucide/svelte/icons/info";
import MessagesSquare from "@lucide/svelte/icons/messages-square";
import Palette from "@lucide/svelte/icons/palette";
import Users from "@lucide/svelte/icons/users";
import Wrench from "@lucide/svelte/icons/wrench";
import type { Component } from "svelte";
import { t } from "../text/text";
import type { LucideIcon } from "../ui/icon";

type Page = { default: Component };

export type Section = {
  id: string;
  label: string;
  icon: LucideIcon;
  load: () => Promise<Page>;
  isForAdmins?: boolean;
};

const names = t.settings.sections;

const SECTIONS: Section[] = [
  { id: "models", label: names.models, icon: Cpu, load: () => import("./models/Models.svelte") },
  { id: "tools", label: names.tools, icon: Wrench, load: () => import("./tools/Tools.svelte") },
  { id: "memory", label: names.memory, icon: Brain, load: () => import("./memory/Memory.svelte") },
  {
    id: "channels",
    label: names.channels,
    icon: MessagesSquare,
    load: () => import("./channels/Channels.svelte"),
  },
  {
    id: "schedules",
    label: names.schedules,
    icon: CalendarClock,
    load: () => import("./schedules/Schedules.svelte"),
  },
  {
    id: "account",
    label: names.account,
    icon: CircleUser,
    load: () => import("./people/Account.svelte"),
  },
  {
    id: "users",
    label: names.users,
    icon: Users,
    load: () => import("./people/Users.svelte"),
    isForAdmins: true,
  },
  {
    id: "appearance",
    label: names.appearance,
    icon: Palette,
    load: () => import("./Appearance.svelte"),
  },
  { id: "usage", label: names.usage, icon: Activity, load: () => import("./usage/Usage.svelte") },
  { id: "import", label: names.import, icon: Import, load: () => import("./Moving.svelte") },
  { id: "about", label: names.about, icon: Info, load: () => import("./About.svelte") },
];

/** The pages that someone may see, and the one that an address names. */
export function offered(isAdmin: boolean): Section[] {
  return SECTIONS.filter((each) => isAdmin || !each.isForAdmins);
}

export function chosen(id: string, isAdmin: boolean): Section | undefined {
  const pages = offered(isAdmin);
  return pages.find((each) => each.id === id) ?? pages[0];
}
