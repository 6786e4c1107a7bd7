import type { LucideIcon } from "./icon";

export type MenuAction = {
  label: string;
  onclick: () => void;
  icon?: LucideIcon;
  danger?: boolean;
  disabled?: boolean;
  /** Given: it is one of a choice, or on and off. */
  checked?: boolean;
  /** Small words on the right: a shortcut, a price. */
  hint?: string;
};

export type MenuItem = MenuAction | "separator";
