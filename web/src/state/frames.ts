/** When something has to be shown: at once, with the next frame, or in a moment. */
export type Haste = "now" | "frame" | "soon";

/** What is waited for comes within it, where all is well. */
const MOMENT = 50;

/** What comes faster than it can be seen is done once a frame, and costs no more. What cannot wait is
 * done at once, after all that came before it: by the time of its frame it is ready to be drawn, and
 * nothing else is done in that frame. What nobody waits for asks for no frame of its own yet: a
 * browser that has just drawn one lets the next wait, and what cannot wait would wait with it. */
export class Frames {
  #waiting: (() => void)[] = [];
  #isAsked = false;
  #isTaken = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  push(run: () => void, haste: Haste): void {
    this.#waiting.push(run);
    // A page that nobody sees has no frames.
    if (haste === "now" || document.hidden) this.#run();
    if (haste === "now") this.#isTaken = true;
    if (haste !== "soon") this.#ask();
    else if (this.#waiting.length) this.#timer ??= setTimeout(() => this.#ask(), MOMENT);
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      if (!this.#isTaken) this.#run();
      else if (this.#waiting.length) this.#ask();
      this.#isTaken = false;
    });
  }

  #run(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const run of waiting) run();
  }
}
