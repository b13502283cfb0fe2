// One made-up state of each kind that the page can be in, for tests and for
// looking at. None of it is in the product's bundle.

import encodeQR from "qr";
import type { Admission, Category, Event, Listed, Mail, MailStep, Me, Pairing, Report, Status, Ticket, Venue } from "./answers.js";
import { crew } from "./crew.js";
import { missing } from "./orders.js";
import { form, opened, withForm, type DevicesState, type EventState, type IssueState, type MailsState, type Open, type ReportState, type State, type TicketState, type Trouble } from "./state.js";

const me: Me = { name: "Alena Dvořáková", email: "alena@aurora.example", has_password: false, has_pin: true, has_second_factor: false, grants: [{ role: "admin" }] };
const venue: Venue = { venue: "v1", name: "Kino Aurora", time_zone: "Europe/Prague" };
const other: Venue = { venue: "v2", name: "Divadlo Na Konečné", time_zone: "Europe/Prague" };
const house: Open = { me, venues: [venue, other], venue };
const gates = [
  { gate: "g1", name: "Main entrance" },
  { gate: "g2", name: "Balcony" },
];

const event: Event = {
  event: "e1",
  venue: "v1",
  venue_name: "Kino Aurora",
  time_zone: "Europe/Prague",
  name: "The Third Man",
  screen: "Screen 3",
  doors_open_at: "2026-11-30T18:00:00Z",
  starts_at: "2026-11-30T18:30:00Z",
  ends_at: "2026-11-30T20:20:00Z",
  claim_from: "2026-11-27T18:00:00Z",
  policy: { freshness: "assisted", rescan: "show_time", rescan_window_s: 300, reentry: true, show_names: true },
};
const events: readonly Event[] = [
  event,
  { ...event, event: "e2", name: "A Very Long Title That a Distributor Thought of Late on a Friday Afternoon", screen: "", starts_at: "2026-11-30T19:30:00Z", ends_at: "2026-11-30T23:30:00Z" },
  { ...event, event: "e3", name: "Salt and Honey", doors_open_at: "2026-12-05T18:00:00Z", starts_at: "2026-12-05T18:30:00Z", ends_at: "2026-12-05T20:00:00Z" },
  { ...event, event: "e4", name: "Letters from Sněžka", doors_open_at: "2026-11-02T18:00:00Z", starts_at: "2026-11-02T18:30:00Z", ends_at: "2026-11-02T20:00:00Z" },
];
const categories: readonly Category[] = [
  { category: "c1", name: "Standard", admits: 1, paper: true, gates: [] },
  { category: "c2", name: "Family", admits: 4, paper: false, gates: ["g1", "g2"] },
];

const names = ["María José de la Cruz Fernández-Villanueva y Ortega", "Karel Novák", "", "Nguyễn Văn An", "Jean-Baptiste Lefèvre"];
const statuses: readonly Status[] = ["active", "used", "held", "revoked"];
const listed = (number: number): Listed => ({
  ticket: `t${number}`,
  number,
  category: number % 3 === 0 ? "c2" : "c1",
  category_name: number % 3 === 0 ? "Family" : "Standard",
  seat: number % 4 === 0 ? "" : `F${number}`,
  holder: { name: names[number % names.length] ?? "", email: number % 2 === 0 ? `guest${number}@example.org` : "" },
  external_id: number === 1 ? "SHOP-4711" : "",
  status: statuses[number % 7 > 3 ? 0 : number % 7] ?? "active",
  claim: number % 5 === 0 ? "none" : number % 5 === 1 ? "paper" : "phone",
  generation: number % 5 === 0 ? 0 : 1,
  entries: number % 7 === 1 ? 1 : 0,
  inside: number % 7 === 1 ? 1 : 0,
  admits: number % 3 === 0 ? 4 : 1,
  extra: 0,
});
const items = Array.from({ length: 24 }, (_, at) => listed(at + 1));

const admission: Admission = {
  at: "2026-11-30T18:21:04.250Z",
  gate_name: "Balcony",
  person_name: "Karel Novák",
  device_name: "Door phone 2",
  people: 1,
  direction: "in",
  kind: "pushed",
  path: "ordinary",
};
const ticket: Ticket = {
  ...listed(1),
  holder: { name: "María José de la Cruz", email: "maria@example.org" },
  status: "used",
  used_at: "2026-11-30T18:25:40Z",
  event: "e1",
  event_name: event.name,
  created_at: "2026-11-20T10:00:00Z",
  history: [
    { at: "2026-11-20T10:00:00Z", act: "ticket.issue", actor: "person", person_name: "Alena Dvořáková", details: { number: 1 } },
    { at: "2026-11-28T08:15:30Z", act: "ticket.claim", actor: "wallet", details: { generation: 1, browser: "Safari, iPhone" } },
    { at: "2026-11-30T17:58:11Z", act: "ticket.print", actor: "person", person_name: "Alena Dvořáková", reason: "Phone is broken", details: { generation: 2 } },
    { at: "2026-11-30T18:22:00Z", act: "scan.undo", actor: "device", person_name: "Petra Dvořáková", device_name: "Door phone 1", reason: "Wrong person", details: null },
  ],
  admissions: [
    { ...admission, undone: { at: "2026-11-30T18:22:00Z", person_name: "Petra Dvořáková", reason: "Wrong person" } },
    { ...admission, at: "2026-11-30T18:25:40Z", kind: "paper", path: "override", reason: "Known guest" },
  ],
};

const trouble = (code: string, facts: Trouble["facts"] = {}): Trouble => ({ ...missing([]), code, facts });
const fields = (...all: [string, string][]): Trouble => missing(all.map(([name, code]) => ({ name, code })));

/** A dark square instead of a symbol: what it says is no matter here. */
const picture = `data:image/svg+xml,${encodeURIComponent(encodeQR("https://tickets.example/w#a-claim-code-of-forty-three-characters-here", "svg", { border: 4 }))}`;
const handed = { text: "https://tickets.aurora.example/w#9kkd8sWaTw82NKHX5lOxaE8tt4HGC-AFccGjzw_zyh4", picture };

const pairing = (change: Partial<Pairing>): DevicesState => ({
  kind: "devices",
  house,
  devices: [
    { device: "d1", name: "Door phone 2", browser: "Chrome, Android", paired_at: "2026-11-30T16:00:00Z", person: { name: "Karel Novák" }, signed_on_at: "2026-11-30T17:00:00Z", revoked_at: null },
    { device: "d2", name: "Handheld with a very long name on its back", browser: "", paired_at: "2026-10-01T16:00:00Z", person: null, signed_on_at: null, revoked_at: "2026-11-01T08:00:00Z" },
  ],
  pairing: { pairing: { pairing: "p1", state: "waiting", expires_at: "2026-11-30T18:05:00Z", ...change }, handed: { ...handed, text: "https://tickets.aurora.example/gate#p.iRVMPrp0PpaS6VljudNbMUo8af" } },
  forms: {},
});
const { pairing: _, ...devices } = pairing({});

const policy = { "policy.freshness": "assisted", "policy.rescan": "show_time", "policy.rescan_window_s": "5", "policy.show_names": "yes", claim_from: "days" };
const newEvent: State = { kind: "new_event", house, forms: { event: form({ date: "2026-11-30", doors_open_at: "19:00", starts_at: "19:30", ends_at: "22:00", ...policy }) } };
const over = (most: number, turn = 0) => Array.from({ length: 28 }, (_, at) => Math.max(0, Math.round(most * Math.exp(-(((at - 6 - turn) / 4) ** 2)))));
const answered = (reason: string, kind: Report["reasons"][number]["class"], over_time: readonly number[]) => ({ reason, class: kind, attempts: over_time.reduce((sum, one) => sum + one, 0), over_time });
const report: Report = {
  at: "2026-11-30T18:41:20Z",
  from: event.doors_open_at,
  to: event.ends_at,
  step_s: 300,
  tickets: { issued: 812, active: 240, used: 561, held: 4, revoked: 7, phone: 640, paper: 92 },
  entries: 1288,
  inside: 1203,
  attempts: { answered: 702, admitted: 575, refused: 127 },
  reasons: [
    answered("admitted", "admit", over(86)),
    answered("stale_nonce", "again", over(14, 1)),
    answered("already_used", "ask", over(6, 4)),
    answered("wrong_gate", "ask", over(3, 2)),
    answered("moved", "refuse", over(1, 8)),
  ],
  unattributed: [answered("not_a_ticket", "again", over(3)), answered("malformed", "again", over(1))],
  gates: [
    { gate: "g2", gate_name: "Balcony", admitted: 215, refused: 41, people_in: 488, people_out: 33 },
    { gate: "g1", gate_name: "Main entrance", admitted: 360, refused: 86, people_in: 833, people_out: 0 },
  ],
  people: [
    { person: "p1", person_name: "Karel Novák", admitted: 215, refused: 41, overrides: 3, look_ups: 1, undos: 1 },
    { person: "p2", person_name: "Petra Dvořáková-Vondráčková", admitted: 360, refused: 86, overrides: 0, look_ups: 0, undos: 0 },
  ],
};
const quiet: Report = { ...report, entries: 0, inside: 0, tickets: { ...report.tickets, active: 0, issued: 0, used: 0, held: 0, revoked: 0, phone: 0, paper: 0 }, attempts: { answered: 0, admitted: 0, refused: 0 }, reasons: [], unattributed: [], gates: [], people: [] };
const step = (name: string, at: string, took_ms: number, detail = "", attempt = 1): MailStep => ({ attempt, step: name, at: `2026-11-20T10:00:${at}Z`, took_ms, outcome: detail === "" ? "ok" : "failed", detail });
const steps = [step("compose", "01", 1.2), step("connect", "02", 12), step("starttls", "02", 31), step("authenticate", "02", 44), step("send", "03", 120)];
const mail = (id: string, change: Partial<Mail>): Mail => ({ mail: id, kind: "order_link", at: "2026-11-20T10:00:00Z", to: "m…@example.org", ticket: "t1", number: 1, state: "sent", attempts: 1, ended_at: "2026-11-20T10:00:03Z", steps, ...change });
const mails: readonly Mail[] = [
  mail("m4", { to: "n…@verylongdomainnameofsomebodysemployer.example", state: "sending", steps: steps.slice(0, 2) }),
  mail("m2b", { kind: "move_code", number: 7 }),
  mail("m3", { kind: "ticket_link", number: 12, state: "failed", steps: [...steps.slice(0, 4), step("send", "04", 80, "550 5.1.1 no such user k…@example.net")] }),
  mail("m2", { number: 9, state: "waiting", attempts: 2, steps: [step("compose", "01", 1), step("connect", "02", 3000, "dial tcp 192.0.2.25:587: connection refused"), step("compose", "11", 1, "", 2), step("connect", "12", 3000, "dial tcp 192.0.2.25:587: connection refused", 2)] }),
  mail("m1", {}),
];
const mailing: MailsState = { kind: "mails", house, event, log: { items: mails, next: "more", state: "", busy: false }, forms: { mails: form({ state: "" }) } };
const listing = { items, next: "more", q: "", status: "", busy: false };
const showing: EventState = { kind: "event", house, event, gates, categories, listing, report, forms: { search: form() } };
const blank: EventState = {
  ...opened(showing, "category", { admits: "1" }),
  categories: [],
  listing: { ...listing, items: [], next: "" },
  report: quiet,
};
const reporting: ReportState = { kind: "report", house, event, report, forms: {} };
const issuing: IssueState = { kind: "issue", house, event, categories, kept: { lease: "l", number: 128 }, forms: { issue: form({ category: "c1", count: "1" }) } };
const stub: TicketState = { kind: "ticket", house, ticket, event, forms: {} };
const valid: TicketState = { ...stub, ticket: { ...ticket, status: "active", entries: 0, inside: 0, admissions: [] }, category: categories[0]! };

/** The states by name. */
export const samples: Readonly<Record<string, State>> = {
  loading: { kind: "loading", forms: {} },
  link: { kind: "link", forms: { link: form() } },
  link_signed_in: { kind: "link", me, forms: { link: form() } },
  link_used: withForm({ kind: "link", forms: { link: form() } }, "link", { trouble: trouble("link.used") }),
  sign_in: { kind: "sign_in", forms: { sign_in: form() } },
  sign_in_refused: withForm({ kind: "sign_in", why: "ended", forms: { sign_in: form({ email: "alena@aurora.example" }) } }, "sign_in", { trouble: trouble("session.wrong_credentials") }),
  password: { kind: "password", me, forms: { password: form() } },
  password_short: withForm({ kind: "password", me: { ...me, has_password: true }, forms: { password: form() } }, "password", { trouble: fields(["password", "too_short"]) }),
  no_rights: { kind: "no_rights", me: { ...me, grants: [{ role: "controller", venue: "v1" }] }, forms: {} },
  failed: { kind: "failed", house, trouble: trouble("unreachable"), forms: {} },
  failed_outside: { kind: "failed", trouble: trouble("unavailable"), forms: {} },
  venues: { kind: "venues", house, forms: { venue: form({ time_zone: "Europe/Prague" }) } },
  venues_none: { kind: "venues", house: { me, venues: [] }, forms: { venue: form({ time_zone: "Europe/Prague" }) } },
  gates: { kind: "gates", house, gates, forms: { gate: form() } },
  gates_none: withForm({ kind: "gates", house, gates: [], forms: { gate: form({ name: "Balcony" }) } }, "gate", { trouble: trouble("gate.name_taken") }),
  devices: { ...devices, forms: { pair: form() } },
  devices_none: { ...devices, devices: [], forms: { pair: form() } },
  devices_ending: { ...devices, ending: "d1", forms: { pair: form(), end: form() } },
  pairing_waiting: pairing({}),
  pairing_opened: pairing({ state: "opened", device_name: "Door phone 7", browser: "Chrome, Android" }),
  pairing_confirmed: pairing({ state: "confirmed", device_name: "Door phone 7" }),
  pairing_collected: pairing({ state: "collected", device_name: "Door phone 7" }),
  pairing_refused: pairing({ state: "refused" }),
  pairing_expired: pairing({ state: "expired" }),
  account: { kind: "account", house: { ...house, me: { ...me, has_password: true } }, forms: { password: form(), pin: form(), factor: form() } },
  account_pin: withForm({ kind: "account", house, forms: { password: form(), pin: form({ pin: "123456" }), factor: form() } }, "pin", { trouble: fields(["pin", "too_simple"]) }),
  ...crew(house, handed),
  events: { kind: "events", house, events: events.slice(0, 3), next: "", past: false, now: new Date("2026-11-30T17:00:00Z"), forms: {} },
  events_past: { kind: "events", house, events, next: "more", past: true, now: new Date("2026-11-30T17:00:00Z"), forms: {} },
  events_none: { kind: "events", house, events: [], next: "", past: false, now: new Date("2026-11-30T17:00:00Z"), forms: {} },
  new_event: newEvent,
  new_event_faults: withForm(newEvent, "event", { trouble: fields(["name", "required"], ["ends_at", "not_in_order"], ["policy.rescan_window_s", "out_of_range"]) }),
  event: showing,
  event_blank: blank,
  event_nothing_found: { ...showing, listing: { ...listing, items: [], next: "", q: "zzz" }, forms: { search: form({ q: "zzz" }) } },
  event_searching: { ...showing, listing: { ...listing, busy: true, trouble: trouble("unreachable") } },
  event_category: withForm(opened(showing, "category", { name: "Standard", admits: "0" }), "category", { trouble: fields(["admits", "out_of_range"], ["gates", "unknown"]) }),
  report: reporting,
  report_empty: { ...reporting, report: quiet },
  mails: mailing,
  mails_none: { ...mailing, log: { ...mailing.log, items: [], next: "" } },
  mails_none_so: { ...mailing, log: { ...mailing.log, items: [], next: "", state: "failed", trouble: trouble("unreachable") }, forms: { mails: form({ state: "failed" }) } },
  report_old: { ...reporting, trouble: trouble("unreachable") },
  issue: issuing,
  issue_coming: { kind: "issue", house, event, categories, forms: issuing.forms },
  issue_moved: { ...issuing, kept: { lease: "l", number: 131, was: 128 } },
  issue_lost: withForm({ ...issuing, kept: { lease: "l", number: 131, was: 128 } }, "issue", { trouble: trouble("number.lease_lost", { number: 131 }) }),
  issue_faults: withForm(issuing, "issue", { trouble: fields(["count", "out_of_range"], ["holder.email", "invalid"], ["seats", "conflicting"]) }),
  issue_busy: withForm(issuing, "issue", { busy: true }),
  issued: { ...issuing, issued: { order: "o", claim_url: handed.text, handed, tickets: [7, 8, 9, 12].map((number) => ({ ticket: `t${number}`, number, seat: `F${number}` })) } },
  issued_many: { ...issuing, issued: { order: "o", claim_url: handed.text, handed: { text: handed.text }, tickets: Array.from({ length: 250 }, (_, at) => ({ ticket: `t${at}`, number: at + 1000, seat: "" })) } },
  ticket: stub,
  ticket_valid: valid,
  ticket_held: { ...valid, ticket: { ...valid.ticket, status: "held" } },
  ticket_revoked: { ...valid, ticket: { ...valid.ticket, status: "revoked" } },
  ticket_revoke: withForm({ ...opened(valid, "deed"), deed: "revoke" }, "deed", { trouble: fields(["reason", "required"]) }),
  ticket_show_link: { ...opened(valid, "deed"), deed: "link" },
  ticket_reissue: { ...opened(valid, "deed", { reason: "Lost the mail" }), deed: "reissue" },
  ticket_resend: withForm({ ...opened(valid, "deed"), deed: "resend" }, "deed", { trouble: trouble("mail.off") }),
  ticket_print: withForm({ ...opened(valid, "deed"), deed: "print" }, "deed", { trouble: trouble("ticket.not_active", { status: "held" }) }),
  ticket_link: { ...valid, handed: { ...handed, what: "link" } },
  ticket_paper: { ...valid, handed: { text: "PS1:", picture, what: "paper" } },
};
