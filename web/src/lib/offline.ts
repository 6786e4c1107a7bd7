// The app and its server drift apart: the worker for when there is no server, a reload for when it
// has become another one.

/** Makes the app installable. Browsers have no worker without HTTPS, except on this machine. */
export async function registerWorker(): Promise<void> {
  if (import.meta.env.DEV || !("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("/worker.js", { updateViaCache: "none" });
  } catch {
    // Without it everything works but installing; private windows refuse it.
  }
}

/** A part of the app that can't be loaded is gone if the server has a newer app. */
export function reloadWhenReplaced(): void {
  addEventListener("vite:preloadError", () => {
    void isReplaced(new URL(import.meta.url).pathname).then((replaced) => {
      if (replaced) location.reload();
    });
  });
}

/** Whether the page that the server has now no longer asks for `script`. */
export async function isReplaced(script: string): Promise<boolean> {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    return answer.ok && !(await answer.text()).includes(script);
  } catch {
    return false;
  }
}
