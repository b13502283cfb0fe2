// Counts of an event's tickets, added up from the pages of its list.

import type { Listed } from "./answers.js";

export interface Tally {
  /** Tickets that are good for something: all but the revoked. */
  readonly issued: number;
  readonly phone: number;
  readonly paper: number;
  /** People inside now. */
  readonly inside: number;
  readonly held: number;
  readonly revoked: number;
  /** False while pages are missing. */
  readonly whole: boolean;
  /** True when the counting stopped before the end: the list is long. */
  readonly stopped: boolean;
}

export const nothing: Tally = { issued: 0, phone: 0, paper: 0, inside: 0, held: 0, revoked: 0, whole: false, stopped: false };

/** How many pages of a hundred are added up by themselves. */
export const mostPages = 50;

/** Adds a page. `next` is its cursor, empty on the last; `pages` counts it too. */
export function add(tally: Tally, items: readonly Listed[], next: string, pages: number): Tally {
  const count = (fits: (ticket: Listed) => boolean) => items.filter(fits).length;
  const good = (ticket: Listed) => ticket.status !== "revoked";
  return {
    issued: tally.issued + count(good),
    phone: tally.phone + count((ticket) => good(ticket) && ticket.claim === "phone"),
    paper: tally.paper + count((ticket) => good(ticket) && ticket.claim === "paper"),
    inside: tally.inside + items.reduce((sum, ticket) => sum + ticket.inside, 0),
    held: tally.held + count((ticket) => ticket.status === "held"),
    revoked: tally.revoked + count((ticket) => ticket.status === "revoked"),
    whole: next === "",
    stopped: next !== "" && pages >= mostPages,
  };
}
