/** Short words at the edge of the page, that go by themselves. */

type ToastAction = { label: string; run: () => void };

type Options = {
  kind?: "info" | "good" | "bad";
  action?: ToastAction;
  /** Called when it goes and its action was not chosen. */
  passed?: () => void;
};

export const LASTS = 6000;
const MOST = 3;

export class Toast {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #left = LASTS;
  #since = 0;

  constructor(
    readonly id: number,
    readonly text: string,
    readonly options: Options,
  ) {
    this.resume();
  }

  /** Someone reads it. */
  pause(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= Date.now() - this.#since;
  }

  resume(): void {
    if (this.#timer !== undefined) return;
    this.#since = Date.now();
    this.#timer = setTimeout(() => {
      this.close();
    }, this.#left);
  }

  close(): void {
    if (this.#end()) this.options.passed?.();
  }

  act(): void {
    if (this.#end()) this.options.action?.run();
  }

  #end(): boolean {
    clearTimeout(this.#timer);
    const known = toasts.list.includes(this);
    toasts.list = toasts.list.filter((each) => each !== this);
    return known;
  }
}

class Toasts {
  list: Toast[] = $state.raw([]);
  #made = 0;

  add(text: string, options: Options): Toast {
    const made = new Toast(this.#made++, text, options);
    this.list = [...this.list, made];
    if (this.list.length > MOST) this.list[0]?.close();
    return made;
  }
}

export const toasts = new Toasts();

export function toast(text: string, options: Options = {}): Toast {
  return toasts.add(text, options);
}
