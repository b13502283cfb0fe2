// Six digits that stand for the live code, for a gate whose camera does not
// read this screen: asked for by hand, good for a minute, and typed there once.

import { Problem } from "../shared/api.js";
import { api, type ShortCode } from "./answers.js";
import type { Clock } from "./clock.js";
import type { Short } from "./state.js";

/** How long it is said that no digits came, in milliseconds. */
const failedFor = 10_000;

/** What came of asking; `until` is the server's time in milliseconds. */
export type Asked =
  | { readonly kind: "asked" }
  | { readonly kind: "failed"; readonly until: number }
  | { readonly kind: "shown"; readonly code: string; readonly until: number };

/** What a card shows of it at `now`; digits outlive the network, but only a live code can be exchanged for new ones. */
export function shortOf(asked: Asked | undefined, live: boolean, now: number): Short | undefined {
  if (asked?.kind === "asked") return { kind: "asked" };
  if (asked === undefined || now >= asked.until) return live ? { kind: "offered" } : undefined;
  if (asked.kind === "failed") return { kind: "failed" };
  return { kind: "shown", code: asked.code, left: Math.ceil((asked.until - now) / 1000) };
}

/** The digits of an answer that is heard at `now`, undefined when it is none. They live no longer than the server gave them, even where `now` is wrong. */
export function heard(answer: ShortCode, now: number): Asked | undefined {
  const expires = Date.parse(answer.expires_at);
  const until = Math.min(expires, now + expires - Date.parse(answer.server_time));
  return /^\d{6}$/.test(answer.code) && until > now ? { kind: "shown", code: answer.code, until } : undefined;
}

/** For the eye: two halves. */
export function grouped(code: string): string {
  const half = code.length / 2;
  return `${code.slice(0, half)} ${code.slice(half)}`;
}

/** For the ear: digit by digit. */
export function spelled(code: string): string {
  return [...code].join(", ");
}

/** The short codes of this phone's tickets. */
export class Shorts {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #all = new Map<string, Asked>();

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  of(ticket: string, live: boolean): Short | undefined {
    return shortOf(this.#all.get(ticket), live, this.#clock.now());
  }

  /** The ticket was used: whatever digits there are may be spent. */
  forget(ticket: string): void {
    if (this.#all.get(ticket)?.kind !== "asked") this.#all.delete(ticket);
  }

  /** Asks for digits. `sign` gives a proof over the newest nonce at hand; `renew` sees to it that there is a newer one. */
  async ask(ticket: string, sign: () => Promise<string>, renew: () => Promise<void>): Promise<void> {
    if (this.#all.get(ticket)?.kind === "asked") return;
    this.#set(ticket, { kind: "asked" });
    const shown = await this.#exchange(sign, renew).catch(() => undefined);
    this.#set(ticket, shown ?? { kind: "failed", until: this.#clock.now() + failedFor });
  }

  async #exchange(sign: () => Promise<string>, renew: () => Promise<void>): Promise<Asked | undefined> {
    try {
      return await this.#once(sign);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "short.stale") throw error;
      await renew();
      return this.#once(sign);
    }
  }

  async #once(sign: () => Promise<string>): Promise<Asked | undefined> {
    const proof = await sign();
    const sent = this.#clock.running();
    const answer = await api.short(proof);
    this.#clock.learn(answer.server_time, sent);
    return heard(answer, this.#clock.now());
  }

  #set(ticket: string, asked: Asked): void {
    this.#all.set(ticket, asked);
    this.#changed();
  }
}
