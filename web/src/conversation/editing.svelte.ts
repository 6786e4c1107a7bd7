/** Messages that are being said differently: kept while their bubbles are out of sight. */

import { SvelteMap } from "svelte/reactivity";
import type { Attachment, MessageView } from "../api/types";
import { textOf } from "./turns";

export class Revision {
  text = $state("");
  files: Attachment[] = $state.raw([]);

  constructor(message: MessageView) {
    this.text = textOf(message);
    for (const part of message.parts) {
      if (part.kind !== "image" && part.kind !== "file") continue;
      this.files = [...this.files, { file: part.blob, name: part.name ?? part.kind }];
    }
  }

  get isEmpty(): boolean {
    return !this.text.trim() && !this.files.length;
  }

  without(file: Attachment): void {
    this.files = this.files.filter((each) => each !== file);
  }
}

export const revisions = new SvelteMap<string, Revision>();
