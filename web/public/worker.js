// The service worker: a page of our own while the server can't be reached, and nothing that is old.
// Pages always come from the server; assets are kept, because their names change with their content.

// The build puts its own mark here, so that what an older one kept goes.
const KEPT = "roost-__BUILD__";
const OFFLINE = "/offline.html";
const BESIDE_IT = ["/offline.css", "/offline.js", "/favicon.svg"];
const NOT_OF_THE_APP = /^\/(api|plain|v1)\//;

self.addEventListener("install", (event) => {
  const fresh = [OFFLINE, ...BESIDE_IT].map((path) => new Request(path, { cache: "reload" }));
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(fresh)));
  // What a page still sends while it goes would be lost on its way through here.
  event.waitUntil(event.addRoutes?.({ condition: { urlPattern: "/api/*" }, source: "network" }));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  event.waitUntil(takeOver());
});

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  if (origin !== location.origin || event.request.method !== "GET") return;
  if (NOT_OF_THE_APP.test(pathname)) return;
  if (event.request.mode === "navigate") event.respondWith(page(event));
  else if (pathname.startsWith("/assets/")) event.respondWith(asset(event.request));
  else if (BESIDE_IT.includes(pathname)) event.respondWith(latest(event.request));
});

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== KEPT).map((name) => caches.delete(name)));
  // The server is asked while the browser still starts this worker.
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
}

async function page(event) {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request));
  } catch {
    return (await caches.match(OFFLINE)) ?? Response.error();
  }
}

async function asset(request) {
  const cache = await caches.open(KEPT);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

async function latest(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match(request)) ?? Response.error();
  }
}
