// What the tests of this folder share. Not part of the page.

import type { Event, Offer, Offered } from "./answers.js";
import type { Held } from "./store.js";

/** An event whose doors open at 18:30 UTC. */
export const event: Event = {
  event: "9b709cf2-938f-4ef3-9b82-ba72f501af83",
  name: "The Third Man",
  screen: "Screen 3",
  venue: "52e0d36d-e650-4445-a4b1-95e83b400b13",
  venue_name: "Kino Aurora",
  time_zone: "Europe/Prague",
  doors_open_at: "2026-12-03T18:30:00Z",
  starts_at: "2026-12-03T19:00:00Z",
  ends_at: "2026-12-03T21:00:00Z",
};

/** A time within its door hours, in milliseconds. */
export const during = Date.parse("2026-12-03T18:45:00Z");

/** A ticket of this phone. */
export function held(change: Partial<Held> = {}): Held {
  return {
    ticket: "01234567-89ab-4cde-8f01-23456789abcd",
    generation: 1,
    event,
    number: 148,
    seat: "F12",
    category: "Standard",
    admits: 1,
    state: "active",
    entries: 0,
    key: {} as CryptoKey,
    link: "",
    ...change,
  };
}

export function offered(change: Partial<Offered> = {}): Offered {
  return { ticket: "t1", event: event.event, number: 1, seat: "", category: "Standard", admits: 1, status: "active", claimed: false, paper: false, claimable: true, movable: false, ...change };
}

export function offer(change: Partial<Offer> = {}): Offer {
  return { challenge: "", server_time: "2026-12-03T10:00:00Z", event, claim_from: "2026-11-30T18:30:00Z", claimable: true, move_to: "", tickets: [offered()], ...change };
}
