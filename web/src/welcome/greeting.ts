/** What is said to who comes back, by the time of their day. */

import { t } from "../text/text";

export function greeting(hour: number, name: string): string {
  const { night, morning, day, evening } = t.welcome.greetings;
  const words = hour < 5 ? night : hour < 12 ? morning : hour < 18 ? day : evening;
  return t.welcome.greeting(words, name);
}
