/** A function that runs once whoever types has paused. */
export function debounced(run: () => void, ms = 200): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, ms);
  };
}
