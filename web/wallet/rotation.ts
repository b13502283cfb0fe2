// The code that is on the screen: signed anew when there is something new to
// sign, and never taken away before a reader had time for it.

import { fromB64u } from "../proof/bytes.js";
import { printPacked } from "../proof/code.js";
import { signNonce, signTime } from "../proof/keys.js";
import type { Fresh } from "./freshness.js";
import { symbolOf, type Symbol } from "./symbol.js";
import type { Held } from "./store.js";

/** A code stays at least so long, in milliseconds. */
export const stays = 2_000;

/** A code that can be shown. */
export interface Shown {
  readonly ticket: string;
  readonly fresh: Fresh;
  readonly symbol: Symbol;
  /** Running milliseconds. */
  readonly since: number;
}

/** Milliseconds until `current` may give way to a code of `wanted` for `ticket`: 0 at once, undefined when it is that code already. */
export function due(current: Shown | undefined, ticket: string, wanted: Fresh, running: number): number | undefined {
  if (current?.ticket !== ticket) return 0;
  if (current.fresh.id === wanted.id) return undefined;
  // What a gate showed was asked for by hand, to be shown now.
  return wanted.kind === "shown" ? 0 : Math.max(0, stays - (running - current.since));
}

/** The text for the camera. `now` is the server's time in milliseconds. */
export async function codeOf(held: Held, fresh: Fresh, now: number): Promise<string> {
  const event = held.event.event;
  if (fresh.kind === "timed") return printPacked(await signTime(held.key, held, event, Math.floor(now / 1000)));
  const nonce = fromB64u(fresh.nonce, 16);
  if (nonce === undefined) throw new Error("the nonce is not 16 bytes");
  return printPacked(await signNonce(held.key, held, event, nonce));
}

/** Keeps the code of one ticket at a time. */
export class Rotation {
  readonly #running: () => number;
  readonly #changed: () => void;
  #current: Shown | undefined;
  #wanted: { readonly held: Held; readonly fresh: Fresh; readonly now: () => number } | undefined;
  #busy = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(running: () => number, changed: () => void) {
    this.#running = running;
    this.#changed = changed;
  }

  /** The code to show for a ticket, if it has been made. */
  shown(ticket: string): Shown | undefined {
    return this.#current?.ticket === ticket ? this.#current : undefined;
  }

  /** Wants this code on the screen, as soon as the present one may go. */
  want(held: Held, fresh: Fresh, now: () => number): void {
    this.#wanted = { held, fresh, now };
    clearTimeout(this.#timer);
    const wait = due(this.#current, held.ticket, fresh, this.#running());
    if (wait === undefined || this.#busy) return;
    if (wait > 0) this.#timer = setTimeout(() => void this.#make(), wait);
    else void this.#make();
  }

  /** No code is wanted. */
  rest(): void {
    this.#wanted = undefined;
    this.#current = undefined;
    clearTimeout(this.#timer);
  }

  async #make(): Promise<void> {
    const wanted = this.#wanted;
    if (wanted === undefined) return;
    this.#busy = true;
    try {
      const text = await codeOf(wanted.held, wanted.fresh, wanted.now());
      if (this.#wanted?.held.ticket === wanted.held.ticket) {
        this.#current = { ticket: wanted.held.ticket, fresh: wanted.fresh, symbol: symbolOf(text), since: this.#running() };
        this.#changed();
      }
    } finally {
      this.#busy = false;
    }
    const next = this.#wanted;
    if (next !== undefined) this.want(next.held, next.fresh, next.now);
  }
}
