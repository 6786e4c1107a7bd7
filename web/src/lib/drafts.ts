/** What was written and not sent, by session. It outlives a reload, and two tabs do not undo one
 * another's: the words written last count. */

import type { Attachment } from "../api/types";
import { parsed } from "./parsed";

/** A file that is on the server already. */
export type DraftFile = Attachment & { media_type: string; size: number };
export type Draft = { text: string; files: DraftFile[]; at: number };

const PREFIX = "draft:";
/** The server forgets a file that no message names after a day, and nobody looks for older words. */
const FILES_LAST = 20 * 3_600_000;
const LAST = 30 * 24 * 3_600_000;

export function draftKey(user: string, session: string | null): string {
  return `${PREFIX}${user}:${session ?? "new"}`;
}

export function readDraft(key: string, now = Date.now()): Draft | null {
  const draft = keptAt(key);
  if (!draft || now - draft.at > LAST) return null;
  return now - draft.at > FILES_LAST ? { ...draft, files: [] } : draft;
}

/** False if what is kept was written later than this. An empty one takes the place of another. */
export function saveDraft(key: string, draft: Draft): boolean {
  const kept = keptAt(key);
  if (kept && kept.at > draft.at) return false;
  if (!draft.text && !draft.files.length) localStorage.removeItem(key);
  else keep(key, draft);
  return true;
}

/** Where this person's drafts are kept. */
export function draftsOf(user: string): string[] {
  const mine = `${PREFIX}${user}:`;
  return Object.keys(localStorage).filter((key) => key.startsWith(mine));
}

export function forgetDrafts(user: string): void {
  for (const key of draftsOf(user)) localStorage.removeItem(key);
}

/** Drafts of long ago, also of sessions that are gone. */
export function forgetOldDrafts(now = Date.now()): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(PREFIX) && !readDraft(key, now)) localStorage.removeItem(key);
  }
}

function keep(key: string, draft: Draft): void {
  try {
    localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // No room: the words are still on the screen.
  }
}

function keptAt(key: string): Draft | null {
  const found = parsed<Partial<Draft>>(localStorage.getItem(key));
  if (typeof found?.text !== "string" || typeof found.at !== "number") return null;
  return { text: found.text, files: found.files ?? [], at: found.at };
}
