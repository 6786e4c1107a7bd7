/** The clipboard, also where the page came over plain HTTP and the browser has no API for it. */

import { t } from "../text/text";
import { announce } from "../ui/announce.svelte";
import { toast } from "../ui/toasts.svelte";

/** Copies, and says what came of it. */
export async function copy(text: string): Promise<boolean> {
  const done = await written(text);
  if (done) announce(t.common.copied);
  else toast(t.common.notCopied, { kind: "bad" });
  return done;
}

async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writtenByHand(text);
  }
}

function writtenByHand(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("readonly", "");
  field.className = "visually-hidden";
  const focused = document.activeElement;
  // Behind a dialog nothing can be selected.
  (focused?.closest("dialog") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
