/** The time, once a second, for whoever shows how long something takes. */

import { createSubscriber } from "svelte/reactivity";

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, 1000);
  return () => {
    clearInterval(timer);
  };
});

export function now(): number {
  subscribe();
  return Date.now();
}
