// Which kind of code a ticket shows now. The rule: what a gate showed comes
// first, then the venue's nonce, and else the time, so that there is always
// something to show.

import type { VenueNonce } from "./answers.js";

/** A nonce that a gate device showed and this phone's camera read; `until` in running milliseconds. */
export interface GateNonce {
  readonly nonce: string;
  readonly read: number;
  readonly until: number;
}

/** What is known of a venue's nonce; `received` in running milliseconds, `issued_at` in the server's. */
export interface Feed {
  readonly open: boolean;
  readonly nonce: string;
  readonly issued_at: number;
  readonly received: number;
}

/** Why there is only a code by time. */
export type Why = "offline" | "closed" | "silent";

/** What to sign. `id` changes when there is something new to sign; `from` and `lasts` (milliseconds of server time) are for the ring. */
export type Fresh =
  | { readonly kind: "shown" | "pushed"; readonly id: string; readonly nonce: string; readonly from: number; readonly lasts: number }
  | { readonly kind: "timed"; readonly id: string; readonly why: Why; readonly from: number; readonly lasts: number };

/** The server makes a new nonce so often, and a code by time is signed anew so often. */
export const every = 10_000;

/** After so long without a new nonce the last one is not relied on: it lives 35 s, and the guest still has to reach the gate. */
export const silence = 20_000;

/** A gate makes its code anew every 15 s: it may have been that old when it was read. */
const gateAge = 15_000;

/** How long an answer to a gate's code is good, in milliseconds from the reading. */
export function gateLasts(acceptedFor: number): number {
  return Math.max(acceptedFor * 1000 - gateAge, gateAge);
}

export interface Known {
  readonly gate: GateNonce | undefined;
  readonly feed: Feed | undefined;
  readonly reachable: boolean;
  /** The server's time and the running clock's, in milliseconds. */
  readonly now: number;
  readonly running: number;
}

/** Chooses what to sign. */
export function choose({ gate, feed, reachable, now, running }: Known): Fresh {
  if (gate !== undefined && running < gate.until) {
    return { kind: "shown", id: `shown ${gate.nonce}`, nonce: gate.nonce, from: now - (running - gate.read), lasts: gate.until - gate.read };
  }
  if (feed?.open === true && running - feed.received < silence) {
    return { kind: "pushed", id: `pushed ${feed.nonce}`, nonce: feed.nonce, from: feed.issued_at, lasts: every };
  }
  const from = Math.floor(now / every) * every;
  const why = !reachable ? "offline" : feed?.open === false ? "closed" : "silent";
  return { kind: "timed", id: `timed ${from}`, why, from, lasts: every };
}

/** The nonces of the venues that there is news of. Times are the server's `now` and the running clock's, in milliseconds. */
export class Feeds {
  readonly #feeds = new Map<string, Feed>();

  of(venue: string): Feed | undefined {
    return this.#feeds.get(venue);
  }

  /** These venues and no others have their doors open. */
  all(venues: readonly VenueNonce[], now: number, running: number): void {
    for (const venue of this.#feeds.keys()) if (!venues.some((one) => one.venue === venue)) this.#feeds.delete(venue);
    for (const venue of venues) this.one(venue, now, running);
  }

  /** A nonce counts from when it was issued, however often it is heard of. */
  one({ venue, open, nonce = "", issued_at }: VenueNonce, now: number, running: number): void {
    if (open && this.#feeds.get(venue)?.nonce === nonce) return;
    const issued = issued_at === undefined ? now : Date.parse(issued_at);
    this.#feeds.set(venue, { open, nonce, issued_at: issued, received: running - Math.max(0, now - issued) });
  }
}

/** The part of the time to the next code that is left, 1 to 0. */
export function left(fresh: { readonly from: number; readonly lasts: number }, now: number): number {
  return Math.min(1, Math.max(0, 1 - (now - fresh.from) / fresh.lasts));
}
