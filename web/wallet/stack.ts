// The rules of the stack of tickets: which lies on top, and what its card shows.

import type { Admitted, Offer, Offered, Standing } from "./answers.js";
import type { Face } from "./state.js";

/** It can still let somebody in. */
export function usable(ticket: Standing, now: number): boolean {
  return ticket.state === "active" && Date.parse(ticket.event.ends_at) > now;
}

/** The place of the ticket to show first: the first that is still good, else the first whose event is not over, else the last. */
export function firstOf(tickets: readonly Standing[], now: number): number {
  const good = tickets.findIndex((ticket) => usable(ticket, now));
  if (good >= 0) return good;
  const present = tickets.findIndex((ticket) => Date.parse(ticket.event.ends_at) > now);
  return present >= 0 ? present : Math.max(0, tickets.length - 1);
}

/** The place of the ticket that comes after the one at `from` was used: the next good one of the same event, round the stack. */
export function nextOf(tickets: readonly Standing[], from: number, now: number): number | undefined {
  const event = tickets[from]?.event.event;
  for (let step = 1; step < tickets.length; step++) {
    const place = (from + step) % tickets.length;
    const ticket = tickets[place];
    if (ticket !== undefined && ticket.event.event === event && usable(ticket, now)) return place;
  }
  return undefined;
}

/** People whom the ticket still lets in. */
export function remaining(ticket: Standing): number {
  return Math.max(0, ticket.admits - ticket.entries);
}

/** What a card shows, apart from the code itself. */
export function faceKind(ticket: Standing, now: number, welcome: Admitted | undefined, early: boolean): Face["kind"] {
  if (welcome !== undefined) return "welcome";
  if (ticket.state !== "active") return ticket.state;
  if (Date.parse(ticket.event.ends_at) <= now) return "over";
  if (Date.parse(ticket.event.doors_open_at) > now && !early) return "waiting";
  return "code";
}

/** The tickets of a link that can be put here now. */
export function claimable(offer: Offer): readonly Offered[] {
  return offer.tickets.filter((ticket) => ticket.claimable);
}

/** The tickets of a link that digits by mail would take from another phone. */
export function movable(offer: Offer): readonly Offered[] {
  return offer.move_to === "" ? [] : offer.tickets.filter((ticket) => ticket.movable);
}

/** What can be done with a link now. */
export type LinkStanding = "ready" | "early" | "taken" | "gone";

/** What a link is good for: `early` before its tickets may be claimed, `taken` when another phone has them, `gone` when they are used, held or revoked or the event is over. */
export function linkStands(offer: Offer): LinkStanding {
  const now = Date.parse(offer.server_time);
  if (offer.claimable) return "ready";
  if (offer.tickets.some((ticket) => ticket.claimed !== false && ticket.status === "active")) return "taken";
  const open = offer.tickets.some((ticket) => ticket.status === "active") && now < Date.parse(offer.event.ends_at);
  return open && now < Date.parse(offer.claim_from) ? "early" : "gone";
}
