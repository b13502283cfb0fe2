// Keeps the counts of an event's page: adds the pages of the list up one after
// the other, and again from time to time while the page is looked at. There is
// one list and no second truth.

import * as calls from "./calls.js";
import type { EventState } from "./state.js";
import { add, mostPages, nothing, type Tally } from "./tally.js";
import type { Listed } from "./answers.js";

/** Counting again takes at most this many pages, so that a large house does not count all evening. */
const cheapPages = 3;

/** Milliseconds between two counts. */
const again = 15_000;

export interface Counted {
  readonly tally: Tally;
  /** The first page, when it was read anew. */
  readonly first?: { readonly items: readonly Listed[]; readonly next: string };
}

/**
 * Counts on from the first page that the state has, then anew while it is
 * cheap; ends with the signal. A page that cannot be had is asked for again
 * after a while: until then the counts shown are the last ones.
 */
export async function keepCounting(state: EventState, signal: AbortSignal, show: (counted: Counted) => void): Promise<void> {
  const id = state.event.event;
  let pages = await walk(id, { tally: state.tally, next: state.listing.next, pages: 1 }, signal, (tally) => show({ tally }));
  while (!signal.aborted && pages <= cheapPages) {
    await pause(again, signal);
    if (signal.aborted || document.hidden) continue;
    try {
      const first = await calls.tickets(id, {}, signal);
      let tally = add(nothing, first.items, first.next, 1);
      pages = await walk(id, { tally, next: first.next, pages: 1 }, signal, (next) => (tally = next));
      if (!signal.aborted) show({ tally, first });
    } catch {
      // The next turn asks again.
    }
  }
}

async function walk(
  id: string,
  from: { readonly tally: Tally; readonly next: string; readonly pages: number },
  signal: AbortSignal,
  step: (tally: Tally) => void,
): Promise<number> {
  let { tally, next, pages } = from;
  while (next !== "" && pages < mostPages && !signal.aborted) {
    const page = await calls.tickets(id, { cursor: next }, signal).catch(() => undefined);
    if (signal.aborted) return pages;
    if (page === undefined) {
      await pause(again, signal);
      continue;
    }
    pages++;
    next = page.next;
    tally = add(tally, page.items, next, pages);
    step(tally);
  }
  return pages;
}

/** Waits so many milliseconds, or until the signal. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
