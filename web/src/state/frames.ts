/** What comes faster than it can be seen is taken once a frame, and costs no more. */
export class Frames<E> {
  #waiting: E[] = [];

  constructor(private take: (each: E) => void) {}

  push(each: E): void {
    this.#waiting.push(each);
    if (this.#waiting.length > 1) return;
    // A page that nobody sees has no frames.
    if (document.hidden) this.#apply();
    else
      requestAnimationFrame(() => {
        this.#apply();
      });
  }

  #apply(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) this.take(each);
  }
}
