// Under `require-trusted-types-for 'script'` a plain string is refused by
// `new Worker` and by `serviceWorker.register`. This one policy lets exactly
// the addresses pass that the build knows, so an injected address starts
// nothing.

interface ScriptPolicy {
  createScriptURL(address: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): ScriptPolicy;
}

/** Returns the address if it is one of the allowed ones; throws a TypeError otherwise. */
export function allowOnly(allowed: readonly string[], address: string): string {
  if (!allowed.includes(address)) throw new TypeError(`not a worker of this build: ${address}`);
  return address;
}

const allowed = Object.values(PORTILLON_WORKERS);
const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
const policy: ScriptPolicy = (factory ?? { createPolicy: (_name, rules) => rules }).createPolicy("portillon", {
  createScriptURL: (address) => allowOnly(allowed, address),
});

/** Starts the decoder worker; throws where this page has none. */
export function startDecoder(): Worker {
  return new Worker(policy.createScriptURL(PORTILLON_WORKERS.decoder ?? ""), { type: "module" });
}

/** Registers the page's service worker for the given scope, or resolves to undefined where the browser refuses one. */
export async function registerService(scope: string): Promise<ServiceWorkerRegistration | undefined> {
  if (!("serviceWorker" in navigator) || PORTILLON_WORKERS.service === undefined) return undefined;
  try {
    return await navigator.serviceWorker.register(policy.createScriptURL(PORTILLON_WORKERS.service), { scope });
  } catch {
    // Private windows and pages behind a clicked-away certificate warning
    // refuse. The page works without; it only is not there offline.
    return undefined;
  }
}
