// Finding a guest by name, seat or number: what is asked, what came of it, and
// which ticket is looked at. An answer that comes after the next question is
// dropped. It knows neither the page nor HTTP, and keeps nothing.

import type { Found, FoundTicket } from "./answers.js";
import type { Trouble } from "./state.js";
import { troubleOf } from "./trouble.js";

/** How far a search is. */
export interface Search {
  /** The words as they were asked for. */
  readonly q: string;
  readonly busy: boolean;
  readonly found?: Found;
  /** The ticket whose card is open. */
  readonly chosen?: FoundTicket;
  /** Why its guest is let in without a code is asked for. */
  readonly asking: boolean;
  readonly trouble?: Trouble;
}

export const noSearch: Search = { q: "", busy: false, asking: false };

/** The least letters and digits of a search, unless it is a ticket's number; the server asks for no less. */
const least = 3;

/** Whether the words are enough to find one guest and not to read a list. */
export function enough(q: string): boolean {
  const words = q.trim();
  return /^\d+$/.test(words) || [...words.replace(/[^\p{L}\p{N}]/gu, "")].length >= least;
}

export class Searching {
  readonly #ask: (q: string) => Promise<Found>;
  readonly #changed: (search: Search) => void;
  #turn = 0;
  #now: Search = noSearch;

  constructor(ask: (q: string) => Promise<Found>, changed: (search: Search) => void) {
    this.#ask = ask;
    this.#changed = changed;
  }

  get now(): Search {
    return this.#now;
  }

  /** Begins anew, and forgets who was found. */
  clear(): void {
    this.#turn++;
    this.#now = noSearch;
  }

  async search(q: string): Promise<void> {
    const mine = ++this.#turn;
    if (!enough(q)) return this.#to({ q, busy: false, asking: false, trouble: { code: "search.too_short" } });
    this.#to({ q, busy: true, asking: false });
    try {
      const found = await this.#ask(q.trim());
      if (mine !== this.#turn) return;
      const only = found.items.length === 1 && !found.more ? found.items[0] : undefined;
      this.#to({ q, busy: false, found, asking: false, ...(only && { chosen: only }) });
    } catch (error) {
      if (mine === this.#turn) this.#to({ q, busy: false, asking: false, trouble: troubleOf(error) });
    }
  }

  /** Opens a found ticket's card; without one, the list again. */
  choose(ticket?: string): void {
    const { chosen: _, ...rest } = this.#now;
    const one = rest.found?.items.find((item) => item.ticket === ticket);
    this.#to({ ...rest, asking: false, ...(one && { chosen: one }) });
  }

  /** The first press on letting in: asks why, or no more. */
  asks(asking: boolean): void {
    if (this.#now.chosen !== undefined) this.#to({ ...this.#now, asking });
  }

  #to(search: Search): void {
    this.#now = search;
    this.#changed(search);
  }
}
