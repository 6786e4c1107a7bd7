/** Done once the browser has nothing better to do, or soon all the same. Returns what calls it off. */
export function whenIdle(run: () => void): () => void {
  // Safari has no word for it.
  if (!("requestIdleCallback" in globalThis)) {
    const timer = setTimeout(run, 50);
    return () => {
      clearTimeout(timer);
    };
  }
  const wanted = requestIdleCallback(run, { timeout: 300 });
  return () => {
    cancelIdleCallback(wanted);
  };
}
