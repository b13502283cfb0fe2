// Digits that this phone makes by itself (RFC 6238), for a gate that cannot read
// a cracked screen while there is no network: said after the ticket's number. The
// secret is fetched when the guest first asks for digits, and stays as a key.

import { Problem } from "../shared/api.js";
import { fromBase32 } from "../proof/code.js";
import { oneTimeCode, oneTimeKey, period, step } from "../proof/totp.js";
import { api } from "./answers.js";
import type { Clock } from "./clock.js";
import { Lapsing } from "./lapsing.js";
import { prove } from "./session.js";
import type { Short } from "./state.js";
import type { Held } from "./store.js";

/** All in milliseconds: how long digits stay on the screen, and how long it is said that none came, or none will. */
const shownFor = 60_000;
const failedFor = 10_000;
const refusedFor = 10 * 60_000;

/** The length of a secret in bytes. */
const secretSize = 20;

/** The digits of this phone's tickets. */
export class Own {
  readonly #clock: Clock;
  readonly #keep: (ticket: Held, oneTime: CryptoKey) => void;
  readonly #changed: () => void;
  readonly #asked = new Lapsing<"asked" | "failed" | "refused" | "shown">();
  readonly #made = new Map<string, { readonly step: number; readonly code: string }>();
  readonly #making = new Set<string>();

  /** `keep` is given each key that was fetched. */
  constructor(clock: Clock, keep: (ticket: Held, oneTime: CryptoKey) => void, changed: () => void) {
    this.#clock = clock;
    this.#keep = keep;
    this.#changed = changed;
  }

  /** What a card shows of it. Digits are offered where they can be made; `reachable`: the server may be asked for the secret. */
  of(held: Held, reachable: boolean): Short | undefined {
    const asked = this.#asked.get(held.ticket, this.#clock.running());
    if (asked !== undefined && asked !== "shown") return { kind: asked };
    if (asked === undefined || held.oneTime === undefined) return held.oneTime !== undefined || reachable ? { kind: "offered" } : undefined;
    const now = this.#clock.now() / 1000;
    const made = this.#made.get(held.ticket);
    if (made?.step !== step(now)) void this.#make(held.ticket, held.oneTime, step(now));
    if (made === undefined) return { kind: "asked" };
    // The digits of the step before are good for two more: they stay until the next are made.
    return { kind: "own", number: held.number, code: made.code, left: Math.ceil(period - (now % period)) };
  }

  /** Shows digits, and fetches the secret first if it is not here. */
  async ask(held: Held): Promise<void> {
    if (this.#asked.get(held.ticket, this.#clock.running()) === "asked") return;
    this.#made.delete(held.ticket);
    if (held.oneTime === undefined) {
      this.#set(held.ticket, "asked", Infinity);
      const refused = await this.#fetch(held).then(() => undefined, whyNot);
      if (refused !== undefined) return this.#set(held.ticket, refused, refused === "failed" ? failedFor : refusedFor);
    }
    this.#set(held.ticket, "shown", shownFor);
  }

  /** Fetches the secret while there is network, for when there is none; the guest needs digits. */
  async prepare(held: Held): Promise<void> {
    if (held.oneTime !== undefined || this.#asked.get(held.ticket, this.#clock.running()) !== undefined) return;
    const refused = await this.#fetch(held).then(() => undefined, whyNot);
    if (refused === "refused") this.#set(held.ticket, refused, refusedFor);
  }

  /** The ticket was used: its digits are spent. */
  forget(ticket: string): void {
    this.#asked.delete(ticket);
    this.#made.delete(ticket);
  }

  async #fetch(held: Held): Promise<void> {
    const [proof] = await prove([held]);
    if (proof === undefined) throw new Error("there is no proof");
    const secret = fromBase32((await api.oneTime(proof)).secret, secretSize);
    if (secret === undefined) throw new Error("the secret is not 20 bytes");
    this.#keep(held, await oneTimeKey(secret));
  }

  async #make(ticket: string, key: CryptoKey, at: number): Promise<void> {
    if (this.#making.has(ticket)) return;
    this.#making.add(ticket);
    try {
      this.#made.set(ticket, { step: at, code: await oneTimeCode(key, at) });
    } finally {
      this.#making.delete(ticket);
    }
    this.#changed();
  }

  #set(ticket: string, asked: "asked" | "failed" | "refused" | "shown", lasts: number): void {
    this.#asked.set(ticket, asked, this.#clock.running() + lasts);
    this.#changed();
  }
}

/** The event takes no digits by the phone's time, or there was no answer to that. */
function whyNot(error: unknown): "refused" | "failed" {
  return error instanceof Problem && error.code === "totp.not_for_event" ? "refused" : "failed";
}
