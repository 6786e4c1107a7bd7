/** Which of the few colours a model has: the most used ones have their own, the rest share one. */

const OWN = 4;

export function toneOf(place: number): string {
  return `t${Math.min(Math.max(place, 0), OWN)}`;
}
