/** Streams are open only in pages that someone sees: a browser allows six connections to a server,
 * and many hidden tabs would leave none for the one in front. */

import type { Stream } from "../api/stream";

type AnyStream = Pick<Stream<never>, "open" | "close" | "hurry">;

const streams = new Set<AnyStream>();

/** Keep a stream open while the page is seen. What is given back ends that. */
export function whileSeen(stream: AnyStream): () => void {
  streams.add(stream);
  if (!document.hidden) stream.open();
  return () => {
    streams.delete(stream);
    stream.close();
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
