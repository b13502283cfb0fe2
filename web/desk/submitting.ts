// What each form does when it is sent: one call, and what is shown then. A
// refusal is thrown and lands in the form.

import * as calls from "./calls.js";
import type { Key } from "../shared/messages.js";
import type { Me } from "./answers.js";
import { submitFactor } from "./factor.js";
import { at } from "./loading.js";
import type { Kept } from "./numbering.js";
import * as orders from "./orders.js";
import { submitStaff } from "./staffing.js";
import { closed, form, opened, type Deed, type Form, type State, type Trouble } from "./state.js";

/** What comes of a form. */
export type Step =
  | { readonly kind: "stay"; readonly state: State | ((now: State) => State); readonly said?: Key; readonly focus?: string }
  /** To another address; `house` when it changed on the way. */
  | { readonly kind: "go"; readonly to: string; readonly house?: Extract<State, { kind: "venues" }>["house"]; readonly said?: Key }
  | { readonly kind: "entered"; readonly me: Me; readonly byLink: boolean }
  | { readonly kind: "refused"; readonly trouble: Trouble };

/** What the desk knows besides the state. */
export interface Besides {
  /** The secret of a one-time link, until it is used. */
  readonly secret: string;
  readonly now: Date;
}

/** Carries a form out. */
export async function submit(state: State, id: string, form: Form, besides: Besides): Promise<Step | undefined> {
  const of = (name: string) => form.values[name] ?? "";
  switch (state.kind) {
    case "link":
      return { kind: "entered", me: await calls.signInByLink(besides.secret, of("otp")), byLink: true };
    case "sign_in":
      return { kind: "entered", me: await calls.signIn(of("email").trim(), of("password"), of("otp")), byLink: false };
    case "password":
      await calls.setPassword(of("password"), "");
      return { kind: "entered", me: { ...state.me, has_password: true }, byLink: false };
    case "account":
      return id === "factor" ? submitFactor(state, form) : account(state, id, of);
    case "venues": {
      const made = await calls.addVenue(of("name"), of("time_zone"), form.key);
      return { kind: "go", to: "#/gates", house: at({ ...state.house, venues: [...state.house.venues, made] }, made), said: "desk.venue_added" };
    }
    case "gates":
      await calls.addGate(state.house.venue.venue, of("name"), form.key);
      return { kind: "stay", state: opened({ ...state, gates: await calls.gates(state.house.venue.venue) }, "gate"), said: "desk.gate_added", focus: "gate-name" };
    case "devices":
      return pair(state, of("name"), form);
    case "people":
    case "person":
    case "tokens":
      return submitStaff(state, form);
    case "new_event":
      return newEvent(state, form, besides.now);
    case "event":
      return id === "category" ? addCategory(state, form) : undefined;
    case "issue":
      return issue(state, form);
    case "ticket":
      return deed(state, state.deed, of("reason"), form);
    default:
      return undefined;
  }
}

type Of<K extends State["kind"]> = Extract<State, { kind: K }>;

async function account(state: Of<"account">, id: string, of: (name: string) => string): Promise<Step> {
  const { house } = state;
  if (id === "pin") {
    await calls.setPIN(of("pin"));
    const me = { ...house.me, has_pin: true };
    return { kind: "stay", state: opened({ ...state, house: { ...house, me } }, "pin"), said: "desk.pin_set", focus: "pin-pin" };
  }
  await calls.setPassword(of("password"), of("current"));
  const me = { ...house.me, has_password: true };
  return { kind: "stay", state: opened({ ...state, house: { ...house, me } }, "password"), said: "desk.password_set" };
}

async function pair(state: Of<"devices">, name: string, form: Form): Promise<Step> {
  const made = await calls.pair(state.house.venue.venue, name, form.key);
  const pairing = { pairing: made, handed: await calls.hand(made.pairing_link ?? "") };
  return { kind: "stay", state: { ...closed(state, "pair"), pairing }, focus: "pairing-title" };
}

async function newEvent(state: Of<"new_event">, form: Form, now: Date): Promise<Step> {
  const { venue, time_zone } = state.house.venue;
  const body = orders.event(form.values, venue, time_zone, now);
  if (orders.isTrouble(body)) return { kind: "refused", trouble: body };
  const made = await calls.addEvent(body, form.key);
  return { kind: "go", to: `#/event/${made.event}`, said: "desk.event_added" };
}

async function addCategory(state: Of<"event">, form: Form): Promise<Step> {
  const { event } = state.event;
  await calls.addCategory(event, orders.category(form.values), form.key);
  const categories = await calls.categories(event);
  // Counts and list may have changed meanwhile: they are those of then.
  const added = (now: State): State => (now.kind === "event" ? { ...closed(now, "category"), categories } : now);
  return { kind: "stay", state: added, said: "desk.category_added", focus: "categories-title" };
}

async function issue(state: Of<"issue">, form: Form): Promise<Step> {
  // The holder is written to in the language of the desk: nobody knows theirs.
  const order = { ...orders.tickets(form.values, state.kept?.lease), language: document.documentElement.lang };
  const issued = await calls.issue(state.event.event, order, form.key);
  // The next order has a key and a number of its own; the category most likely stays.
  const { kept: _, ...next } = opened(state, "issue", { category: form.values["category"] ?? "", count: "1" });
  return { kind: "stay", state: { ...next, issued: { ...issued, handed: await calls.hand(issued.claim_url) } }, focus: "issued-title" };
}

/** The lease that a refusal gives in place of a lost one. */
export function lost({ code, facts: { lease, number } }: Trouble): Kept | undefined {
  return code === "number.lease_lost" && typeof lease === "string" && typeof number === "number" ? { lease, number } : undefined;
}

async function deed(state: Of<"ticket">, deed: Deed | undefined, reason: string, form: Form): Promise<Step | undefined> {
  const id = state.ticket.ticket;
  const { deed: _, ...done } = closed(state, "deed");
  switch (deed) {
    case undefined:
      return undefined;
    case "link":
    case "reissue": {
      const { claim_url } = deed === "link" ? await calls.showLink(id) : await calls.reissue(id, reason, form.key);
      const handed = { ...(await calls.hand(claim_url)), what: "link" as const };
      return { kind: "stay", state: { ...done, ticket: await fresh(state), handed }, focus: "handed-title" };
    }
    case "print": {
      const { code, qr_svg } = await calls.print(id, reason, form.key);
      const handed = { text: code, picture: calls.imageOf(qr_svg), what: "paper" as const };
      return { kind: "stay", state: { ...done, ticket: await fresh(state), handed }, focus: "paper-title" };
    }
    default: {
      const ticket = await calls.change(id, deed, reason, form.key);
      return { kind: "stay", state: { ...done, ticket }, said: `desk.deed_done.${deed}`, focus: "title" };
    }
  }
}

/** The ticket as it is after a deed; the deed is done even if this cannot be read. */
async function fresh({ ticket }: Of<"ticket">): Promise<Of<"ticket">["ticket"]> {
  return calls.ticket(ticket.ticket).catch(() => ticket);
}

/** The form after a refusal. A key that the server knows with another content is spent: what it stood for was carried out. */
export function refused(trouble: Trouble): Partial<Form> {
  return { busy: false, trouble, ...(trouble.code === "request.key_conflict" && { key: form().key }) };
}

