// Keeps what an event's pages count up to date while they are looked at. The
// server counts, all in one moment, so that no two figures disagree.

import * as calls from "./calls.js";
import type { Listed, Report } from "./answers.js";
import type { Trouble } from "./state.js";

/** Milliseconds between two counts. */
const again = 15_000;

/** A new count, with the first page of the tickets where it is looked at; or why there is none. */
export type Counted =
  | { readonly report: Report; readonly first?: { readonly items: readonly Listed[]; readonly next: string } }
  | { readonly trouble: Trouble };

/** Counts again and again until the signal, but not while nobody looks. What cannot be had is asked for again; until then the last count stays. */
export async function keepCounting(event: string, withTickets: boolean, signal: AbortSignal, show: (counted: Counted) => void): Promise<void> {
  while (!signal.aborted) {
    await pause(again, signal);
    if (signal.aborted || document.hidden) continue;
    try {
      const [report, first] = await Promise.all([calls.report(event, signal), withTickets ? calls.tickets(event, {}, signal) : undefined]);
      if (!signal.aborted) show({ report, ...(first && { first: { items: first.items, next: first.next } }) });
    } catch (error) {
      if (!signal.aborted) show({ trouble: calls.troubleOf(error) });
    }
  }
}

/** Waits so many milliseconds, or until the signal. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
