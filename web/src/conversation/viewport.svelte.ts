/** The part of a long list that is in the page: what is near the eye. Nothing that is read moves
 * when something above it comes, goes or grows; at the end, the end stays in view. */

import { tick, untrack } from "svelte";
import type { Attachment } from "svelte/attachments";

export type Item = { key: string; estimate: number };

/** Where the eye is: something on the page, and its distance from the upper edge. */
type Anchor = { key: string; element: Element | null; offset: number; inner: number };

/** How far beyond the edges there is something, in pixels. */
const BEYOND = 1600;
/** So near to the end is at the end. */
const NEAR = 48;

export class Viewport {
  /** What is in the page: items `first` to `last` (without), and the room for the others. */
  range = $state.raw({ first: 0, last: 0, above: 0, below: 0 });
  /** The reader is at the end, and stays there. */
  following = $state(true);
  /** How far the end is away. */
  isFar = $state(false);

  #items: Item[] = [];
  #index = new Map<string, number>();
  #heights = new Map<string, number>();
  #elements = new Map<string, HTMLElement>();
  #scroller: HTMLElement | null = null;
  /** Its height. To ask for it while the page changes would have all of it laid out once more. */
  #room = 0;
  #anchor: Anchor | null = null;
  /** As the page was when it was last looked at. */
  #top = 0;
  #length = 0;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #sizes: ResizeObserver | null = null;

  constructor(private nearTop: () => void) {}

  /** The element that scrolls. */
  scroller: Attachment<HTMLElement> = (element) => {
    this.#scroller = element;
    this.#room = element.clientHeight;
    this.#observer.observe(element);
    const scrolled = (): void => {
      this.#scrolled();
    };
    element.addEventListener("scroll", scrolled, { passive: true });
    untrack(() => {
      this.#choose();
    });
    return () => {
      element.removeEventListener("scroll", scrolled);
      clearTimeout(this.#soon);
      this.#sizes?.disconnect();
      this.#sizes = null;
      this.#scroller = null;
    };
  };

  /** All that scrolls: when it grows or shrinks, the page is held before that is drawn. */
  column: Attachment<HTMLElement> = (element) => {
    this.#observer.observe(element);
  };

  /** An item that is in the page. */
  item(key: string): Attachment<HTMLElement> {
    return (element) => {
      this.#elements.set(key, element);
      this.#observer.observe(element);
      return () => {
        this.#sizes?.unobserve(element);
        if (this.#elements.get(key) === element) this.#elements.delete(key);
      };
    };
  }

  /** These are the items now. */
  show(items: Item[]): void {
    this.#items = items;
    this.#index = new Map(items.map((each, place) => [each.key, place]));
    if (this.#anchor && !this.#index.has(this.#anchor.key)) this.#lost();
    this.#choose();
  }

  /** Put what the eye rests on back to where it was. To be called once the page has changed. */
  hold(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    if (this.following) {
      const end = scroller.scrollHeight - scroller.clientHeight;
      if (Math.abs(end - scroller.scrollTop) > 0.5) scroller.scrollTop = end;
    } else {
      const moved = this.#moved(scroller);
      if (Math.abs(moved) > 0.5) scroller.scrollTop += moved;
    }
    this.#note(scroller);
  }

  toEnd(): void {
    this.following = true;
    this.isFar = false;
    this.#choose();
    // Done before the frame that it is for, it asks for no other one.
    void tick().then(() => {
      this.hold();
    });
  }

  /** Bring an item to the upper part of the page. */
  reveal(key: string, offset = 80): void {
    if (!this.#index.has(key)) return;
    this.following = false;
    this.#anchor = { key, element: null, offset, inner: offset };
    this.#choose();
  }

  /** Begin where the reader was. */
  begin({ key, offset }: { key: string; offset: number }): void {
    this.following = false;
    this.#anchor = { key, element: null, offset, inner: offset };
  }

  /** Have the eye rest on something within an item, a third of the page down. */
  rest(element: Element, key: string): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const edge = scroller.getBoundingClientRect().top;
    scroller.scrollTop += element.getBoundingClientRect().top - edge - scroller.clientHeight / 3;
    const offset = element.getBoundingClientRect().top - edge;
    const inner = (this.#elements.get(key)?.getBoundingClientRect().top ?? edge) - edge;
    this.#anchor = { key, element, offset, inner };
    this.#note(scroller);
  }

  /** Where the reader is, to come back to; null at the end. */
  get place(): { key: string; offset: number } | null {
    if (this.following || !this.#anchor) return null;
    return { key: this.#anchor.key, offset: this.#anchor.inner };
  }

  get #observer(): ResizeObserver {
    this.#sizes ??= new ResizeObserver((entries) => {
      this.#resized(entries);
    });
    return this.#sizes;
  }

  #resized(entries: ResizeObserverEntry[]): void {
    for (const { target } of entries) {
      const key = (target as HTMLElement).dataset["key"];
      const height = (target as HTMLElement).offsetHeight;
      if (key !== undefined && height) this.#heights.set(key, height);
    }
    this.#room = this.#scroller?.clientHeight ?? 0;
    this.hold();
    // What came into the page now would be painted before its size is told.
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => {
      this.#choose();
    });
  }

  #scrolled(): void {
    const scroller = this.#scroller;
    if (!scroller) return;
    const by = scroller.scrollTop - this.#top;
    // A page that became shorter moves by itself, which is no wish to leave the end.
    const shrunk = scroller.scrollHeight < this.#length;
    // What came or grew since is no part of how far the reader went.
    if (!this.following) {
      const moved = this.#moved(scroller) + by;
      if (Math.abs(moved) > 0.5) scroller.scrollTop += moved;
    }
    const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    if (left <= NEAR) this.following = true;
    else if (by < -0.5 && !shrunk) this.following = false;
    this.isFar = !this.following && left > scroller.clientHeight / 2;
    this.#anchor = this.#look(scroller);
    this.#note(scroller);
    this.#choose();
    if (scroller.scrollTop < BEYOND && this.range.first === 0) this.nearTop();
  }

  #note(scroller: HTMLElement): void {
    this.#top = scroller.scrollTop;
    this.#length = scroller.scrollHeight;
  }

  /** What the eye rested on is there no more. */
  #lost(): void {
    this.#anchor = this.#scroller && this.#guess(this.#scroller.scrollTop);
    if (!this.#anchor) this.following = true;
  }

  #height(place: number): number {
    const item = this.#items[place]!;
    return this.#heights.get(item.key) ?? item.estimate;
  }

  #choose(): void {
    const count = this.#items.length;
    const room = this.#room || 900;
    const at = this.#anchor && !this.following ? this.#index.get(this.#anchor.key) : undefined;
    let [first, last] = at === undefined ? [count, count] : [at, at];
    const inner = at === undefined ? 0 : this.#anchor!.inner;
    const upper = at === undefined ? room + BEYOND : BEYOND + inner;
    for (let filled = 0; first > 0 && filled < upper;) filled += this.#height(--first);
    for (let filled = inner; last < count && filled < room + BEYOND;)
      filled += this.#height(last++);
    let above = 0;
    let below = 0;
    for (let n = 0; n < first; n++) above += this.#height(n);
    for (let n = last; n < count; n++) below += this.#height(n);
    const now = this.range;
    if (now.first === first && now.last === last && now.above === above && now.below === below)
      return;
    this.range = { first, last, above, below };
  }

  /** What is at the upper edge: a piece of an item, for an item may be longer than the page. */
  #look(scroller: HTMLElement): Anchor | null {
    const edge = scroller.getBoundingClientRect().top;
    for (let n = this.range.first; n < this.range.last; n++) {
      const key = this.#items[n]?.key ?? "";
      const element = this.#elements.get(key);
      const box = element?.getBoundingClientRect();
      if (!element || !box || box.bottom <= edge) continue;
      if (box.top > edge + scroller.clientHeight) break;
      for (const piece of element.querySelectorAll("[data-piece]")) {
        const { top, bottom } = piece.getBoundingClientRect();
        if (bottom > edge)
          return { key, element: piece, offset: top - edge, inner: box.top - edge };
      }
      return { key, element, offset: box.top - edge, inner: box.top - edge };
    }
    return this.#guess(scroller.scrollTop);
  }

  /** Someone has dragged the bar to where nothing is yet. */
  #guess(top: number): Anchor | null {
    let sum = 0;
    for (let n = 0; n < this.#items.length; n++) {
      const height = this.#height(n);
      if (sum + height > top) {
        const offset = sum - top;
        return { key: this.#items[n]!.key, element: null, offset, inner: offset };
      }
      sum += height;
    }
    return null;
  }

  #moved(scroller: HTMLElement): number {
    const anchor = this.#anchor;
    if (!anchor) return 0;
    const edge = scroller.getBoundingClientRect().top;
    if (anchor.element?.isConnected) {
      return anchor.element.getBoundingClientRect().top - edge - anchor.offset;
    }
    const element = this.#elements.get(anchor.key);
    return element ? element.getBoundingClientRect().top - edge - anchor.inner : 0;
  }
}
