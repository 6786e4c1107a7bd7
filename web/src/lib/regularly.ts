/** Something done now and then, while someone sees the page. What is given back ends it. */
export function regularly(run: () => unknown, ms: number): () => void {
  const seen = (): void => {
    if (!document.hidden) run();
  };
  seen();
  const timer = setInterval(seen, ms);
  document.addEventListener("visibilitychange", seen);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
