// One made-up state of each kind that the page can be in, for tests and for
// looking at. None of it is in the product's bundle.

import type { Event, MovedTicket, Offer, Offered, Standing } from "./answers.js";
import { symbolOf } from "./symbol.js";
import type { CameraState, Face, MoveState, Notice, NotMeState, OfferState, Short, State, TicketState } from "./state.js";

const event: Event = {
  event: "e1",
  name: "The Third Man",
  screen: "Screen 3",
  venue: "v1",
  venue_name: "Kino Aurora",
  time_zone: "Europe/Prague",
  doors_open_at: "2026-12-03T18:30:00Z",
  starts_at: "2026-12-03T19:00:00Z",
  ends_at: "2026-12-03T21:00:00Z",
};

const now = Date.parse("2026-12-03T18:41:27Z");

const ticket: Standing = { ticket: "t1", generation: 1, event, number: 148, seat: "Row F, seat 12", category: "Standard", admits: 1, state: "active", entries: 0 };
const family: Standing = { ...ticket, ticket: "t2", number: 149, seat: "Box 2", category: "Family", admits: 4, entries: 1 };

// A code of the size of a real one, with the spaces that base45 has.
const symbol = symbolOf(`PT1:${"8V10A C$%*+-./:".repeat(10).slice(0, 147)}`);

function card(face: Face, more: Partial<TicketState> = {}): TicketState {
  return { kind: "tickets", ticket, position: 1, count: 1, face, notice: undefined, now, ...more };
}

const live: Extract<Face, { kind: "code" }> = { kind: "code", source: "pushed", why: undefined, symbol, left: 0.6, short: { kind: "offered" } };
const timed = (why: "offline" | "closed" | "silent", short?: Short): Face => ({ kind: "code", source: "timed", why, symbol, left: 0.3, short });
const short = (it: Short, more: Partial<TicketState> = {}) => card({ ...live, short: it }, more);
const digits: Short = { kind: "shown", code: "482913", left: 43 };
const notice = (it: Notice) => card(live, { notice: it });

const offered: Offered = { ticket: "t1", event: "e1", number: 148, seat: "Row F, seat 12", category: "Standard", admits: 1, status: "active", claimed: false, paper: false, claimable: true, movable: false };
const taken: Offered = { ...offered, claimable: false, movable: true, claimed: { at: "2026-12-02T09:15:00Z", browser: "Safari, iPhone" } };

const offer: Offer = {
  challenge: "",
  server_time: "2026-12-03T10:00:00Z",
  event,
  claim_from: "2026-11-30T18:30:00Z",
  claimable: true,
  move_to: "",
  tickets: [offered, { ...offered, ticket: "t2", number: 149, seat: "Box 2", category: "Family", admits: 4, paper: true }],
};

function landing(more: Partial<OfferState>, change: Partial<Offer> = {}): OfferState {
  return { kind: "offer", offer: { ...offer, ...change }, app: undefined, copied: false, step: "ask", others: false, ...more };
}

function moving(more: Partial<MoveState>): MoveState {
  return { kind: "move", offer: { ...offer, claimable: false, move_to: "m…@example.org", tickets: [taken] }, to: "m…@example.org", digits: "", step: "ask", trouble: undefined, ...more };
}

function notMe(more: Partial<NotMeState>, change: Partial<MovedTicket> = {}): NotMeState {
  const one: MovedTicket = { ticket: "t1", number: 148, seat: "Row F, seat 12", category: "Standard", admits: 1, held: false, stoppable: true, ...change };
  return { kind: "not_me", moved: { at: "2026-12-02T09:15:00Z", browser: "Chrome, Android", event, tickets: [one, { ...one, ticket: "t2", number: 149, seat: "Row F, seat 13" }], server_time: offer.server_time }, step: "ask", ...more };
}

const camera = (state: CameraState, other = false): State => ({ kind: "camera", camera: state, other });

/** A ticket with this text as its code. */
export function withCode(text: string): State {
  return card({ ...live, symbol: symbolOf(text) });
}

/** By name, for the gallery. */
export const samples: Readonly<Record<string, State>> = {
  loading: { kind: "loading" },
  no_link: { kind: "no_link" },
  link_unknown: { kind: "link_failed", why: "unknown" },
  link_ended: { kind: "link_failed", why: "ended" },
  unreachable: { kind: "link_failed", why: "unreachable" },
  refused: { kind: "link_failed", why: "refused" },
  cannot_keep: { kind: "cannot_keep" },
  finishing: { kind: "finishing" },
  offer: landing({}),
  offer_one: landing({ others: true }, { tickets: [offered] }),
  offer_in_app: landing({ app: "Instagram", copied: true }),
  offer_in_some_app: landing({ app: "" }, { tickets: [offered] }),
  offer_claiming: landing({ step: "claiming" }),
  offer_waiting: landing({ step: "waiting" }),
  offer_early: landing({}, { claimable: false, claim_from: "2026-12-03T12:00:00Z", tickets: [{ ...offered, claimable: false }] }),
  offer_move: landing({}, { claimable: false, move_to: "m…@example.org", tickets: [taken, { ...taken, ticket: "t2", number: 149, seat: "Box 2", category: "Family", admits: 4 }] }),
  offer_move_in_app: landing({ app: "Instagram" }, { claimable: false, move_to: "m…@example.org", tickets: [taken] }),
  offer_mailing: landing({ step: "mailing" }, { claimable: false, move_to: "m…@example.org", tickets: [taken] }),
  move: moving({}),
  move_wrong: moving({ digits: "12345678", trouble: { kind: "wrong", left: 1 } }),
  move_ended: moving({ trouble: { kind: "ended" } }),
  move_eight: moving({ digits: "1234", trouble: { kind: "eight" } }),
  move_many: moving({ trouble: { kind: "many", minutes: 42 } }),
  move_checking: moving({ step: "checking" }),
  move_waiting: moving({ step: "waiting" }),
  not_me: notMe({}),
  not_me_sending: notMe({ step: "sending" }),
  not_me_unreachable: notMe({ step: "unreachable" }),
  not_me_held: notMe({}, { held: true, stoppable: false }),
  not_me_late: notMe({ step: "late" }),
  not_me_settled: notMe({}, { stoppable: false }),
  offer_taken: landing({}, { claimable: false, tickets: [taken] }),
  offer_partly: landing({}, { tickets: [taken, { ...offered, ticket: "t3", number: 150, seat: "Row F, seat 13" }, { ...offered, number: 151, seat: "", status: "held", claimable: false }] }),
  offer_gone: landing({}, { claimable: false, tickets: [{ ...offered, status: "revoked", claimable: false }] }),
  offer_over: landing({}, { claimable: false, server_time: "2026-12-04T10:00:00Z", tickets: [{ ...offered, claimable: false }] }),
  coming: card({ kind: "code", source: undefined, why: undefined, symbol: undefined, left: 0, short: undefined }),
  live: card(live),
  live_stack: card(live, { ticket: family, position: 2, count: 4 }),
  short_asked: short({ kind: "asked" }),
  short_shown: short(digits),
  short_last: short({ ...digits, left: 1 }, { ticket: family, position: 2, count: 4 }),
  short_failed: short({ kind: "failed" }),
  short_offline: card(timed("offline", digits)),
  own_offered: card(timed("offline", { kind: "offered" })),
  own_shown: card(timed("offline", { kind: "own", number: 148, code: "48291306", left: 9 })),
  own_refused: card(timed("closed", { kind: "refused" })),
  offline: card(timed("offline")),
  closed: card(timed("closed")),
  silent: card(timed("silent")),
  answer: card({ kind: "code", source: "shown", why: undefined, symbol, left: 0.9, short: undefined }),
  waiting: card({ kind: "waiting" }, { now: Date.parse("2026-12-03T16:00:00Z"), count: 2 }),
  waiting_days: card({ kind: "waiting" }, { now: Date.parse("2026-12-01T16:00:00Z") }),
  welcome: card({ kind: "welcome", at: "2026-12-03T18:41:26Z", gate: "Main entrance", remaining: 0, more: false }),
  welcome_next: card({ kind: "welcome", at: "2026-12-03T18:41:26Z", gate: "Main entrance", remaining: 0, more: true }, { count: 4 }),
  welcome_family: card({ kind: "welcome", at: "2026-12-03T18:41:26Z", gate: "Balcony", remaining: 3, more: false }, { ticket: family }),
  used: card({ kind: "used" }, { ticket: { ...ticket, state: "used", entries: 1, admitted: { at: "2026-12-03T18:35:00Z", gate: "Main entrance" } } }),
  held: card({ kind: "held" }, { ticket: { ...ticket, state: "held" } }),
  revoked: card({ kind: "revoked" }, { ticket: { ...ticket, state: "revoked" } }),
  moved: card({ kind: "moved" }, { ticket: { ...ticket, state: "moved" } }),
  over: card({ kind: "over" }, { now: Date.parse("2026-12-03T22:00:00Z") }),
  wrong_gate: notice({ kind: "wrong_gate", gates: ["Balcony", "Side door"] }),
  undone: notice({ kind: "undone" }),
  left: notice({ kind: "left" }),
  camera_starting: camera("starting"),
  camera_live: camera("live"),
  camera_other_code: camera("live", true),
  camera_resting: camera("resting"),
  camera_denied: camera("denied"),
  camera_none: camera("none"),
  camera_failed: camera("failed"),
};
