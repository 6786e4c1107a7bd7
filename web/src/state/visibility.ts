/** Streams are open only in pages that someone sees: a browser allows six connections to a server,
 * and many hidden tabs would leave none for the one in front. */

import type { Stream } from "../api/stream";

const streams = new Set<Stream<{ kind: string }>>();

/** Keep a stream open while the page is seen. What is given back ends that. */
export function whileSeen<E extends { kind: string }>(stream: Stream<E>): () => void {
  const one = stream as unknown as Stream<{ kind: string }>;
  streams.add(one);
  if (!document.hidden) one.open();
  return () => {
    streams.delete(one);
    one.close();
  };
}

document.addEventListener("visibilitychange", () => {
  for (const stream of streams) {
    if (document.hidden) stream.close();
    else stream.open();
  }
});

addEventListener("online", () => {
  for (const stream of streams) stream.hurry();
});
