/** Files that will go with the message that is being written. */

import { address, asProblem, upload } from "../api/client";
import type { Attachment } from "../api/types";
import type { DraftFile } from "../lib/drafts";
import { bytes } from "../lib/numbers";
import { t } from "../text/text";

export const MOST = 50;
/** What the server takes of one file. */
export const LARGEST = 100 << 20;

const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

class AttachedFile {
  /** How much of it has arrived, 0 to 1. */
  part = $state(0);
  kept: DraftFile | null = $state.raw(null);
  problem: string | null = $state(null);
  /** Where its picture is, if it is one. */
  preview: string | null = $state(null);
  #ending = new AbortController();

  constructor(
    readonly name: string,
    readonly size: number,
    readonly source: Blob | null,
  ) {}

  get isLoading(): boolean {
    return !this.kept && this.problem === null;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  end(): void {
    this.#ending.abort();
    if (this.preview?.startsWith("blob:")) URL.revokeObjectURL(this.preview);
  }
}

export class Attachments {
  files: AttachedFile[] = $state.raw([]);

  constructor(readonly changed: () => void = () => undefined) {}

  get isLoading(): boolean {
    return this.files.some((each) => each.isLoading);
  }

  get kept(): DraftFile[] {
    return this.files.map((each) => each.kept).filter((each) => each !== null);
  }

  /** As a message names them. */
  get named(): Attachment[] {
    return this.kept.map(({ file, name }) => ({ file, name }));
  }

  /** Upload what was chosen, dropped or pasted. Gives back what is to be said about it, if anything. */
  add(chosen: Iterable<File>): string | null {
    const files = [...chosen];
    const room = MOST - this.files.length;
    for (const file of files.slice(0, Math.max(room, 0))) this.#add(file);
    return files.length > room ? t.composer.tooMany(MOST) : null;
  }

  /** Take over what is on the server already. */
  restore(kept: DraftFile[]): void {
    this.#drop();
    this.files = kept.map((file) => {
      const made = new AttachedFile(file.name, file.size, null);
      made.kept = file;
      if (PICTURE.test(file.media_type)) made.preview = contentOf(file);
      return made;
    });
  }

  remove(file: AttachedFile): void {
    file.end();
    this.files = this.files.filter((each) => each !== file);
    this.changed();
  }

  async retry(file: AttachedFile): Promise<void> {
    if (file.source) await this.#upload(file, file.source);
  }

  clear(): void {
    this.#drop();
    this.files = [];
  }

  #drop(): void {
    for (const each of this.files) each.end();
  }

  #add(file: File): void {
    const made = new AttachedFile(this.#freshName(file.name), file.size, file);
    if (PICTURE.test(file.type)) made.preview = URL.createObjectURL(file);
    this.files = [...this.files, made];
    if (file.size > LARGEST) made.problem = t.composer.tooLarge(bytes(LARGEST));
    else void this.#upload(made, file);
  }

  async #upload(made: AttachedFile, source: Blob): Promise<void> {
    made.problem = null;
    made.part = 0;
    try {
      const progress = (part: number): void => {
        made.part = part;
      };
      const { id, media_type, size } = await upload(source, { progress, signal: made.signal });
      made.kept = { file: id, name: made.name, media_type, size };
      this.changed();
    } catch (error) {
      if (!made.signal.aborted) made.problem = asProblem(error).detail;
    }
  }

  /** Pasted pictures are all called image.png: a message with two of them tells them apart. */
  #freshName(name: string): string {
    const [, stem = name, ending = ""] = /^(.+?)(\.\w+)?$/s.exec(name || t.composer.unnamed) ?? [];
    let fresh = stem + ending;
    for (let n = 2; this.files.some((each) => each.name === fresh); n++)
      fresh = `${stem} ${n}${ending}`;
    return fresh;
  }
}

function contentOf({ file, name }: DraftFile): string {
  return address("/api/files/{file}/content", { file }, { name });
}

/** What was dropped, and whether a folder was among it: a browser gives that as an empty file. */
export function droppedIn(transfer: DataTransfer): { files: File[]; folders: boolean } {
  const files: File[] = [];
  let folders = false;
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const file = item.getAsFile();
    if (item.webkitGetAsEntry()?.isDirectory) folders = true;
    else if (file) files.push(file);
  }
  return { files, folders };
}
