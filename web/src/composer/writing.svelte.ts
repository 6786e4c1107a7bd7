/** What is being written: one text and its files, kept as a draft of the session it is for. */

import type { Attachment } from "../api/types";
import { type Draft, draftKey, forgetOldDrafts, readDraft, saveDraft } from "../lib/drafts";
import { Attachments } from "./attachments.svelte";

const PAUSE = 300;

export class Writing {
  text = $state("");
  /** The turn whose words are being changed, if they are no new ones. */
  editing: string | null = $state(null);
  /** Grows whenever the place to write should be in focus, with the cursor at the end. */
  focus = $state(0);
  readonly attachments = new Attachments(() => {
    this.touch();
  });
  #key: string | null = null;
  /** When a person last changed it here. */
  #at = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #carries = false;

  constructor() {
    addEventListener("storage", (event) => {
      if (event.key === this.#key) this.#told();
    });
    addEventListener("pagehide", () => {
      this.flush();
    });
    forgetOldDrafts();
  }

  get isEmpty(): boolean {
    return !this.text.trim() && !this.attachments.files.length;
  }

  /** Write for this session from now on, or for a new one. */
  open(user: string, session: string | null): void {
    const key = draftKey(user, session);
    if (key === this.#key) return;
    this.flush();
    const carries = this.#carries && session !== null && this.#key === draftKey(user, null);
    this.#carries = false;
    this.#key = key;
    if (carries && !this.isEmpty) this.#move(draftKey(user, null));
    else this.#show(readDraft(key));
  }

  /** A new session is about to be opened with what was written: what is written now goes there. */
  carry(): void {
    this.#carries = true;
  }

  /** A person has changed something. It is kept when they pause. */
  touch(): void {
    this.#at = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.flush();
    }, PAUSE);
  }

  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // Words of a message that was sent are no draft: they are in the history.
    if (this.#key && !this.editing) saveDraft(this.#key, this.#draft);
  }

  /** Begin anew: it was sent, or is not wanted. */
  clear(): void {
    this.text = "";
    this.editing = null;
    this.attachments.clear();
    this.touch();
    this.flush();
  }

  /** Other words; the files stay. */
  rewrite(text: string): void {
    this.text = text;
    this.focus++;
    this.touch();
  }

  /** Write on from words that are there. */
  begin(text: string, editing: string | null = null, files: Attachment[] = []): void {
    this.text = text;
    this.editing = editing;
    this.attachments.restore(files.map((each) => ({ ...each, media_type: "", size: 0 })));
    this.focus++;
    this.touch();
  }

  get #draft(): Draft {
    return { text: this.text, files: this.attachments.kept, at: this.#at };
  }

  #move(from: string): void {
    this.touch();
    saveDraft(from, { text: "", files: [], at: this.#at });
    this.flush();
  }

  #show(draft: Draft | null): void {
    this.editing = null;
    this.text = draft?.text ?? "";
    this.attachments.restore(draft?.files ?? []);
    this.#at = draft?.at ?? 0;
  }

  /** Another tab wrote. Unless someone is typing here, its words are shown. */
  #told(): void {
    if (this.#timer !== undefined || this.editing || !this.#key) return;
    if (this.attachments.isLoading) return;
    this.#show(readDraft(this.#key));
  }
}

export const writing = new Writing();
