/** What a screen reader is told of things that happen elsewhere on the page. */

import { untrack } from "svelte";

class Announcer {
  text = $state("");

  say(text: string): void {
    // The same words twice are two announcements: readers speak only what differs.
    // An effect that announces does not wait for what was announced.
    this.text = untrack(() => this.text) === text ? `${text}\u00a0` : text;
  }
}

export const announcer = new Announcer();

export function announce(text: string): void {
  announcer.say(text);
}
