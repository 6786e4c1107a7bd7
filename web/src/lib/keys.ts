/** Shortcuts: written as "mod+shift+o", where mod is Cmd on a Mac and Ctrl elsewhere. */

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

export function matches(event: Pressed, keys: string, mac = isMac): boolean {
  const parts = keys.split("+");
  const wanted = parts.pop() ?? "";
  const mod = mac ? event.metaKey : event.ctrlKey;
  const other = mac ? event.ctrlKey : event.metaKey;
  return (
    mod === parts.includes("mod") &&
    !other &&
    event.altKey === parts.includes("alt") &&
    shiftFits(event, parts) &&
    isKey(event, wanted)
  );
}

/** Shift is part of how "?" is typed, and no wish of its own. */
function shiftFits(event: Pressed, parts: string[]): boolean {
  if (parts.includes("shift")) return event.shiftKey;
  return !event.shiftKey || !/^[a-z0-9]$|^.{2,}$/i.test(event.key);
}

/** With Alt or Shift a letter may come as something else: then the place of the key counts. */
function isKey(event: Pressed, wanted: string): boolean {
  if (event.key.toLowerCase() === wanted) return true;
  return /^[a-z]$/.test(wanted) && event.code === `Key${wanted.toUpperCase()}`;
}

/** Whether a shortcut works while someone types. */
export function hasModifier(keys: string): boolean {
  return /^(mod|alt)\+/.test(keys);
}

const MAC: Record<string, string> = { mod: "⌘", shift: "⇧", alt: "⌥" };
const ELSEWHERE: Record<string, string> = { mod: "Ctrl", shift: "Shift", alt: "Alt" };
const NAMED: Record<string, string> = {
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
  escape: "Esc",
  enter: "Enter",
};

/** The keys as they are printed. */
export function keyWords(keys: string, mac = isMac): string[] {
  const names = mac ? MAC : ELSEWHERE;
  return keys.split("+").map((key) => names[key] ?? NAMED[key] ?? key.toUpperCase());
}

/** Whether what is pressed goes into a text. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && !/^(checkbox|radio|range|button)$/.test(target.type);
}

/** The keys in one piece, for a tooltip. */
export function keyText(keys: string, mac = isMac): string {
  return keyWords(keys, mac).join(mac ? "" : "+");
}
