/** The icon of each tool. */

import AppWindow from "@lucide/svelte/icons/app-window";
import Brain from "@lucide/svelte/icons/brain";
import Bot from "@lucide/svelte/icons/bot";
import Cog from "@lucide/svelte/icons/cog";
import FilePen from "@lucide/svelte/icons/file-pen";
import FileSearch from "@lucide/svelte/icons/file-search";
import FileText from "@lucide/svelte/icons/file-text";
import FileUp from "@lucide/svelte/icons/file-up";
import Globe from "@lucide/svelte/icons/globe";
import History from "@lucide/svelte/icons/history";
import ListTodo from "@lucide/svelte/icons/list-todo";
import MessageCircleQuestion from "@lucide/svelte/icons/message-circle-question-mark";
import Plug from "@lucide/svelte/icons/plug";
import Search from "@lucide/svelte/icons/search";
import Terminal from "@lucide/svelte/icons/square-terminal";
import Wrench from "@lucide/svelte/icons/wrench";
import type { LucideIcon } from "../ui/icon";

const ICONS: Record<string, LucideIcon> = {
  terminal: Terminal,
  processes: Cog,
  read_file: FileText,
  write_file: FilePen,
  edit_file: FilePen,
  apply_patch: FilePen,
  find_files: FileSearch,
  search_files: FileSearch,
  send_file: FileUp,
  fetch: Globe,
  web_search: Search,
  browser: AppWindow,
  memory: Brain,
  session_search: History,
  todo: ListTodo,
  ask_user: MessageCircleQuestion,
  delegate: Bot,
};

export function iconOf(tool: string): LucideIcon {
  return ICONS[tool] ?? (tool.startsWith("mcp_") ? Plug : Wrench);
}
