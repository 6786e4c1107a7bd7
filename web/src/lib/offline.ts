// Makes the app installable: registers the service worker, which never serves an old app.

/** Resolves once the worker is registered, or isn't to be: browsers have none without HTTPS. */
export async function registerWorker(): Promise<void> {
  if (import.meta.env.DEV || !("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("/worker.js", { updateViaCache: "none" });
  } catch {
    // Without it everything works but installing, and private windows refuse it.
  }
}
