// How a service worker answers a request, as a rule that a test can ask.

/** Which of the three ways a request is answered. */
export type Way = "asset" | "page" | "leave";

/**
 * Chooses the way for a request: kept assets by their content-hashed address,
 * navigations to the page itself, and everything else left to the browser.
 */
export function way(method: string, address: URL, navigation: boolean, here: string, page: string, assets: readonly string[]): Way {
  if (method !== "GET" || address.origin !== here) return "leave";
  if (navigation) return address.pathname === page ? "page" : "leave";
  return assets.includes(address.pathname) ? "asset" : "leave";
}
