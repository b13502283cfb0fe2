// One made-up state of each kind that the page can be in, for tests and for
// looking at. None of it is in the product's bundle.

import encodeQR from "qr";
import type { Answer, Class, Device, FoundTicket, Ticket } from "./answers.js";
import type { AloneView } from "./offline.js";
import type { Over, Shown } from "./screen.js";
import type { Page, State, Work } from "./state.js";
import { noTally } from "./uploads.js";

const now = "2026-11-30T19:20:00Z";
const person = { person: "p1", name: "Karel Novák", rights: ["device", "scan", "override"] };

const device: Device = {
  device: "d1",
  name: "Door phone 2",
  venue: { venue: "v1", name: "Kino Aurora", time_zone: "Europe/Prague" },
  gates: [
    { gate: "g1", name: "Main entrance" },
    { gate: "g2", name: "Balcony" },
  ],
  people: [
    { person: "p1", name: "Karel Novák" },
    { person: "p2", name: "Petra Dvořáková" },
    { person: "p3", name: "Jean-Baptiste Lefèvre" },
  ],
};
const staffed: Device = { ...device, person };

const ticket: Ticket = {
  ticket: "t1",
  number: 148,
  category: "Standard",
  seat: "F12",
  holder: "María José de la Cruz",
  event_name: "The Third Man",
  screen: "Screen 3",
  doors_open_at: "2026-11-30T19:00:00Z",
  starts_at: "2026-11-30T19:30:00Z",
  venue_name: "Kino Aurora",
  time_zone: "Europe/Prague",
};

function answer(reason: string, cls: Class, more: Partial<Answer> = {}): Shown {
  const verdict = cls === "admit" ? "admit" : cls === "again" ? "retry" : "refuse";
  return { kind: "answer", answer: { verdict, class: cls, reason, replayed: false, title: "", advice: "", actions: [], ticket, server_time: now, ...more } };
}

const first_use = {
  at: "2026-11-30T19:18:00Z",
  seconds_ago: 130,
  gate_name: "Balcony",
  person: "Petra Dvořáková",
  same_device: false,
  same_claim: true,
  same_nonce: false,
};
const without = (shown: Shown): Shown => {
  if (shown.kind !== "answer") return shown;
  const { ticket: _, ...rest } = shown.answer;
  return { kind: "answer", answer: rest };
};

const over = (shown: Shown, more: Partial<Extract<Over, { kind: "answer" }>> = {}): Over => ({ kind: "answer", shown, id: "t1", key: "k1", old: false, other: false, ...more });

const data = { kind: "ready", made_at: "2026-11-30T18:41:00Z", tickets: 50_000 } as const;
const networked: AloneView = { mode: "off", data, unsent: 0, tally: noTally };

const work: Work = {
  kind: "working",
  gate: "Main entrance",
  person: "Karel Novák",
  time_zone: "Europe/Prague",
  online: true,
  lease: "held",
  camera: "live",
  optics: { others: false },
  screen: { over: { kind: "nothing" } },
  aside: [],
  unsent: 0,
  panel: { kind: "none" },
  overrides: 0,
  recent: [],
  direction: "in",
  perhapsExits: false,
  alone: networked,
};
const cut: Work = { ...work, online: false, lease: "lost", alone: { ...networked, mode: "on", cause: "network", unsent: 12 } };
const recent: Work["recent"] = [
  { key: "r1", at: "2026-11-30T19:19:50Z", reason: "admitted", class: "admit", people: 1, undoable: true, ticket: { ticket: "t1", number: 148, place: "Screen 3 · F12" } },
  { key: "r2", at: "2026-11-30T19:19:20Z", reason: "already_used", class: "ask", people: 0, undoable: false, ticket: { ticket: "t2", number: 12, place: "Screen 3 · C4" } },
  { key: "r3", at: "2026-11-30T19:18:02Z", reason: "admitted", class: "admit", people: 3, undoable: true, undone: true, ticket: { ticket: "t3", number: 77, place: "Screen 1" } },
  { key: "r4", at: "2026-11-30T19:17:40Z", reason: "bad_signature", class: "refuse", people: 0, undoable: false },
];
const guest: FoundTicket = {
  ticket: "t1",
  number: 148,
  category: "Standard",
  seat: "F12",
  holder: "María José de la Cruz",
  status: "active",
  claim: "phone",
  admits: 4,
  remaining: 2,
  event_name: "The Third Man",
  screen: "Screen 3",
  doors_open_at: "2026-11-30T19:00:00Z",
  starts_at: "2026-11-30T19:30:00Z",
  time_zone: "Europe/Prague",
  last_use: { at: "2026-11-30T19:08:00Z", seconds_ago: 720, gate_name: "Balcony", person: "Petra Dvořáková" },
  actions: ["admit"],
};
const { holder: _holder, last_use: _use, ...nameless } = guest;
const others: readonly FoundTicket[] = [
  guest,
  { ...guest, ticket: "t2", number: 149, seat: "F13", holder: "Marie-Josée de la Croix-Rousse-Saint-Étienne" },
  { ...nameless, ticket: "t3", number: 1480, seat: "" },
];
const finds = (items: readonly FoundTicket[], more = false): Work => ({ ...work, panel: { kind: "search", q: "mar", busy: false, asking: false, found: { items, more, server_time: now } } });
const looksAt = (chosen: FoundTicket, asking: boolean): Work => ({ ...work, panel: { kind: "search", q: "mar", busy: false, asking, chosen, found: { items: others, more: false, server_time: now } } });
const shows = (shown: Shown, more: Partial<Extract<Over, { kind: "answer" }>> = {}, at: Work = work): Work => ({ ...at, screen: { over: over(shown, more) } });
const admitted = answer("admitted", "admit", { people: 1, remaining: 0 });

const answers: Readonly<Record<string, State>> = {
  admitted: shows(admitted),
  admitted_moved: shows(answer("admitted", "admit", { people: 1, remaining: 0, moved_at: "2026-11-30T19:08:00Z" })),
  admitted_family: shows(answer("admitted", "admit", { people: 3, remaining: 1 })),
  admitted_recovered: shows(answer("admitted", "admit", { people: 1, remaining: 0, first_use })),
  admitted_by_judgement: { ...shows(answer("admitted", "admit", { people: 1, remaining: 0, overridden: ["already_used"] })), overrides: 2 },
  already_used: shows(answer("already_used", "ask", { first_use })),
  already_used_may_admit: shows(answer("already_used", "ask", { first_use, actions: ["override"] })),
  already_used_why: { ...shows(answer("already_used", "ask", { first_use, actions: ["override"] })), panel: { kind: "override" } },
  already_used_old: shows(answer("already_used", "refuse", { first_use: { ...first_use, seconds_ago: 2500, same_claim: false } }), { old: true }),
  choose_people: shows(answer("choose_people", "ask", { verdict: "retry", actions: ["people"], remaining: 4 })),
  needs_assist: shows(answer("needs_assist", "ask", { verdict: "retry", actions: ["phone_offline"], kind: "timed" })),
  wrong_event: shows(answer("wrong_event", "ask", { ticket: { ...ticket, event_name: "Playtime", screen: "Screen 1", doors_open_at: "2026-11-30T20:30:00Z", starts_at: "2026-12-01T20:00:00Z" } })),
  wrong_gate: shows(answer("wrong_gate", "ask", { gates: [{ gate: "g2", name: "Balcony" }] })),
  too_early: shows(answer("too_early", "ask", { not_before: "2026-11-30T21:00:00Z" })),
  stale_nonce: shows(answer("stale_nonce", "again")),
  clock_skew: shows(answer("clock_skew", "again", { seconds_skew: -320 })),
  moved: shows(answer("moved", "refuse", { moved_at: "2026-11-30T18:20:00Z" })),
  bad_signature: shows(without(answer("bad_signature", "refuse")), { other: true }),
  claim_link: shows({ kind: "foreign", reason: "not_a_ticket", what: "claim_link" }),
  glued: shows({ kind: "foreign", reason: "malformed", what: "glued" }),
  flood: shows({ kind: "foreign", reason: "malformed", what: "flood" }),
  refused_call: shows({ kind: "problem", code: "session.right_missing", detail: "" }),
};

const working: Readonly<Record<string, State>> = {
  scanning: work,
  exits: { ...work, direction: "out", panel: { kind: "more", closing: false, busy: false } },
  perhaps_exits: { ...work, perhapsExits: true },
  let_out: { ...shows(answer("admitted", "admit", { people: 1, remaining: 0, direction: "out" })), direction: "out" },
  last_scans: { ...work, recent, panel: { kind: "recent", busy: false } },
  last_scans_none: { ...work, panel: { kind: "recent", busy: false } },
  undo_why: { ...work, recent, panel: { kind: "recent", undoing: "r1", busy: false, trouble: { code: "undo.too_late" } } },
  asking: { ...work, unsent: 1, screen: { over: { kind: "asking", key: "k1", slow: false, other: false } } },
  asking_slow: { ...work, online: false, unsent: 1, screen: { over: { kind: "asking", key: "k1", slow: true, other: true } } },
  strip: { ...work, screen: { over: { kind: "nothing" }, last: over(admitted) as Extract<Over, { kind: "answer" }> } },
  strip_old: { ...work, screen: { over: { kind: "nothing" }, last: over(admitted, { old: true }) as Extract<Over, { kind: "answer" }> } },
  set_aside: {
    ...work,
    unsent: 1,
    aside: [
      { key: "a1", at: "2026-11-30T19:19:12Z" },
      { key: "a2", at: "2026-11-30T19:19:31Z", shown: admitted },
      { key: "a3", at: "2026-11-30T19:19:40Z", shown: answer("already_used", "ask", { first_use }) },
    ],
  },
  offline: { ...cut, unsent: 2, alone: { ...networked, mode: "offered", cause: "network" } },
  offline_portal: { ...cut, alone: { ...networked, mode: "offered", cause: "not_ours", unsent: 3 } },
  offline_no_data: { ...cut, alone: { ...networked, mode: "offered", cause: "timeout", data: { kind: "none" } } },
  offline_not_allowed: { ...cut, alone: { ...networked, mode: "offered", cause: "unavailable", data: { kind: "not_allowed" } } },
  offline_stale: { ...cut, alone: { ...networked, mode: "offered", cause: "network", data: { ...data, kind: "stale" } } },
  asking_alone: { ...cut, unsent: 1, alone: { ...networked, mode: "offered", cause: "timeout" }, screen: { over: { kind: "asking", key: "k1", slow: true, other: false } } },
  alone: cut,
  alone_back: { ...cut, online: true, lease: "held", alone: { ...cut.alone, mode: "back" } },
  alone_told: { ...work, alone: { ...networked, tally: { recorded: 288, double_admission: 10, quarantined: 2, refused: 0 } } },
  alone_admitted: shows(answer("admitted", "admit", { people: 1, remaining: 0, alone: "decided", kind: "paper" }), {}, cut),
  alone_strip: { ...cut, screen: { over: { kind: "nothing" }, last: over(answer("admitted", "admit", { people: 1, remaining: 0, alone: "decided" })) as Extract<Over, { kind: "answer" }> } },
  alone_used: shows(answer("already_used", "ask", { alone: "decided", first_use: { ...first_use, gate_name: "Main entrance", person: "Karel Novák", same_device: true }, actions: ["override"] }), {}, cut),
  alone_not_in_pack: shows(without(answer("not_in_pack", "ask", { alone: "decided", actions: ["override"] })), {}, cut),
  alone_no_data: shows(without(answer("not_in_pack", "ask", { alone: "no_data" })), {}, cut),
  alone_foreign_nonce: shows(answer("unknown_nonce", "again", { alone: "decided" }), {}, cut),
  not_allowed: { ...work, lease: "lost", trouble: { code: "session.right_missing" } },
  closed: { ...work, lease: "closed", camera: "off" },
  camera_starting: { ...work, camera: "starting", lease: "taking" },
  camera_resting: { ...work, camera: "resting" },
  camera_denied: { ...work, camera: "denied" },
  camera_none: { ...work, camera: "none" },
  typing: { ...work, panel: { kind: "typing" } },
  gate_code: { ...work, panel: { kind: "gate_code", failed: false, code: encodeQR("PG1:" + "ABCDEF0123456789".repeat(3) + "ABCDEF", "raw", { ecc: "low", border: 4 }) } },
  search: { ...work, panel: { kind: "search", q: "", busy: false, asking: false } },
  search_short: { ...work, panel: { kind: "search", q: "ma", busy: false, asking: false, trouble: { code: "search.too_short" } } },
  search_fast: { ...work, panel: { kind: "search", q: "maria", busy: false, asking: false, trouble: { code: "search.too_fast" } } },
  search_none: finds([]),
  search_found: finds(others),
  search_more: finds(others, true),
  guest: looksAt(guest, false),
  guest_why: looksAt(guest, true),
  guest_not_mine: looksAt({ ...nameless, status: "active", claim: "none", admits: 1, actions: [] }, false),
  gate_code_waits: { ...work, panel: { kind: "gate_code", failed: false } },
  more: { ...work, panel: { kind: "more", closing: false, busy: false } },
  more_of_the_camera: { ...work, optics: { others: true, light: true }, panel: { kind: "more", closing: false, busy: false } },
  closing: { ...work, panel: { kind: "more", closing: true, busy: false } },
};

const before: Readonly<Record<string, State>> = {
  loading: { kind: "loading" },
  unpaired: { kind: "unpaired", unsent: 0 },
  revoked: { kind: "unpaired", trouble: { code: "session.unknown_credential" }, unsent: 12 },
  pairing: { kind: "pairing", name: "Android", busy: false },
  pairing_again: { kind: "pairing", name: "Android", busy: false, paired: "Door phone 2", trouble: { code: "pairing.expired" } },
  confirming: { kind: "confirming", name: "Door phone 2", online: true },
  unreachable: { kind: "unreachable" },
  unreachable_onward: { kind: "unreachable", onward: { gate: "Main entrance", person: "Karel Novák", time_zone: "Europe/Prague", made_at: data.made_at } },
  names: { kind: "sign_on", device, step: { kind: "names" }, busy: false },
  nobody: { kind: "sign_on", device: { ...device, people: [] }, step: { kind: "names" }, busy: false },
  pin: { kind: "sign_on", device, step: { kind: "pin", person, digits: 3 }, busy: false },
  pin_wrong: { kind: "sign_on", device, step: { kind: "pin", person, digits: 0 }, busy: false, trouble: { code: "sign_on.wrong_pin", tries_left: 3 } },
  pin_locked: { kind: "sign_on", device, step: { kind: "password", person }, busy: false, trouble: { code: "sign_on.pin_locked" } },
  password: { kind: "sign_on", device, step: { kind: "password" }, busy: false },
  choose_gate: { kind: "choose_gate", device: staffed },
  no_gates: { kind: "choose_gate", device: { ...staffed, gates: [] } },
  ready: { kind: "ready", device: staffed, gate: "g1", unsent: 2, alone: false },
  ready_alone: { kind: "ready", device: staffed, gate: "g1", unsent: 2, alone: true },
};

/** Pages by name. */
export const samples: Readonly<Record<string, Page>> = Object.fromEntries([
  ...Object.entries({ ...before, ...working, ...answers }).map(([name, state]) => [name, { state, update: false }] as const),
  ["update", { state: { kind: "ready", device: staffed, gate: "g1", unsent: 0, alone: false }, update: true }],
]);
