// Values that the build (internal/webbuild) writes into the bundles.

/** Addresses that a page may start as a worker: the decoder by its content hash, the service worker by its fixed name. */
declare const PORTILLON_WORKERS: { readonly decoder?: string; readonly service?: string };

/** Address of a page's message file, by language. */
declare const PORTILLON_MESSAGES: Readonly<Record<string, string>>;

/** What a service worker keeps for a page: its own address and those of its assets; `build` changes with any of them. */
declare const PORTILLON_OFFLINE: {
  readonly page: string;
  readonly build: string;
  readonly assets: readonly string[];
  readonly update: "at_once" | "when_told";
};
