// New builds: the service worker fetches one in the background; it is taken on
// a tap, between shifts, never under a controller's hands.

/** Watches for a newer build; the returned function takes it and loads the page again. */
export function watchUpdates(registration: ServiceWorkerRegistration, waits: () => void): () => void {
  let taking = false;
  const look = () => {
    // Without a controller this is the first visit, and nothing is newer.
    if (registration.waiting !== null && navigator.serviceWorker.controller !== null) waits();
  };
  look();
  registration.addEventListener("updatefound", () => registration.installing?.addEventListener("statechange", look));
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    if (taking) location.reload();
  });
  return () => {
    taking = true;
    registration.waiting?.postMessage("update");
  };
}
