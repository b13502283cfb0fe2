// What both service workers do: keep one build of one page so that it opens
// without network, and touch nothing else. Calls to the API never pass
// through here: a stale answer at a door is worse than none.

import { way } from "./way.js";

declare const self: ServiceWorkerGlobalScope;

const { page, build, assets, update } = PORTILLON_OFFLINE;
const store = `portillon ${page} ${build}`;

async function keep(): Promise<void> {
  const cache = await caches.open(store);
  // `reload` goes past the HTTP cache: the page's address is the same in
  // every build, and the one to keep is the one that names these assets.
  await cache.addAll([page, ...assets].map((address) => new Request(address, { cache: "reload" })));
  if (update === "at_once") await self.skipWaiting();
}

async function dropOthers(): Promise<void> {
  const ours = (await caches.keys()).filter((name) => name.startsWith(`portillon ${page} `) && name !== store);
  await Promise.all(ours.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function fromStore(address: string, request: Request): Promise<Response> {
  const cache = await caches.open(store);
  return (await cache.match(address)) ?? fetch(request);
}

/** Wires the service worker up. A page that takes new builds `when_told` sends the message "update". */
export function serve(): void {
  self.addEventListener("install", (event) => event.waitUntil(keep()));
  self.addEventListener("activate", (event) => event.waitUntil(dropOthers()));
  self.addEventListener("message", (event) => {
    if (event.data === "update") event.waitUntil(self.skipWaiting());
  });
  self.addEventListener("fetch", (event) => {
    const { request } = event;
    const address = new URL(request.url);
    switch (way(request.method, address, request.mode === "navigate", self.location.origin, page, assets)) {
      case "page":
        return event.respondWith(fromStore(page, request));
      case "asset":
        return event.respondWith(fromStore(address.pathname, request));
      case "leave":
        return;
    }
  });
}
