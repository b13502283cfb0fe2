// From a route to the state that shows it: which calls a view needs before it
// can be drawn.

import * as calls from "./calls.js";
import type { Category, Me, Venue } from "./answers.js";
import type { Route } from "./route.js";
import { loadStaff } from "./staffing.js";
import { everywhere, form, mayWork, type House, type Open, type State } from "./state.js";
import { dayIn } from "./when.js";

const remembered = "portillon.desk.venue";

const signedIn = "portillon.desk.signed_in";

/** Whether this browser may have a session: asking without one is a refusal in the browser's console. */
export const maybeSignedIn = (): boolean => localStorage.getItem(signedIn) !== null;

/** Remembers that there is a session, or that it ended. Nothing secret: the session itself is a cookie that no script sees. */
export function rememberSession(there: boolean): void {
  if (there) localStorage.setItem(signedIn, "yes");
  else localStorage.removeItem(signedIn);
}

/** Enters the house: its venues, and the one where this browser was last. */
export async function enter(me: Me): Promise<House> {
  const venues = mayWork(me) ? await calls.venues() : [];
  const last = localStorage.getItem(remembered);
  return at({ me, venues }, venues.find(({ venue }) => venue === last) ?? venues[0]);
}

/** The house with that venue chosen, which this browser remembers. */
export function at(house: House, venue: Venue | undefined): House {
  if (venue === undefined) return house;
  localStorage.setItem(remembered, venue.venue);
  return { ...house, venue };
}

/** Fetches what a route shows. A house without a venue gets the way to its first one. */
export async function load(route: Route, house: House, now: Date): Promise<State> {
  if (!mayWork(house.me)) return { kind: "no_rights", me: house.me, forms: {} };
  if (route.kind === "account") return { kind: "account", house, forms: { password: form(), pin: form(), factor: form() } };
  const { venue } = house;
  if (venue === undefined || route.kind === "venues") return venuesState(house);
  const open: Open = { ...house, venue };
  switch (route.kind) {
    case "gates":
      return { kind: "gates", house: open, gates: await calls.gates(venue.venue), forms: { gate: form() } };
    case "devices":
      return { kind: "devices", house: open, devices: await calls.devices(venue.venue), forms: { pair: form() } };
    case "people":
    case "person":
    case "tokens":
      return loadStaff(route, open);
    case "events": {
      const { items, next } = await calls.events(venue.venue, route.past ? "" : now.toISOString());
      return { kind: "events", house: open, events: items, next, past: route.past, now, forms: {} };
    }
    case "new_event":
      return { kind: "new_event", house: open, forms: { event: form(evening(venue, now)) } };
    default:
      return loadThing(route, open);
  }
}

export function venuesState(house: House): State {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { kind: "venues", house, forms: everywhere(house.me) ? { venue: form({ time_zone: zone }) } : {} };
}

/** The usual evening: what most houses need not change. */
function evening(venue: Venue, now: Date): Readonly<Record<string, string>> {
  return {
    date: dayIn(venue.time_zone, now),
    doors_open_at: "19:00",
    starts_at: "19:30",
    ends_at: "22:00",
    claim_from: "days",
    "policy.freshness": "assisted",
    "policy.rescan": "show_time",
    "policy.rescan_window_s": "5",
    "policy.show_names": "yes",
  };
}

/** An order of which nothing was said yet. */
export function firstOrder(categories: readonly Category[]): Readonly<Record<string, string>> {
  return { category: categories[0]?.category ?? "", count: "1" };
}

async function loadThing(route: Exclude<Extract<Route, { id: string }>, { kind: "person" }>, house: Open): Promise<State> {
  if (route.kind === "ticket") {
    const ticket = await calls.ticket(route.id);
    const [event, categories] = await Promise.all([calls.event(ticket.event), calls.categories(ticket.event)]);
    const category = categories.find((one) => one.category === ticket.category);
    return { kind: "ticket", house: of(house, event.venue), ticket, event, ...(category && { category }), forms: {} };
  }
  const [event, categories] = await Promise.all([calls.event(route.id), calls.categories(route.id)]);
  const own = of(house, event.venue);
  if (route.kind === "issue") {
    return { kind: "issue", house: own, event, categories, forms: { issue: form(firstOrder(categories)) } };
  }
  if (route.kind === "mails") {
    const { items, next } = await calls.mails(route.id, {});
    return { kind: "mails", house: own, event, log: { items, next, state: "", busy: false }, forms: { mails: form({ state: "" }) } };
  }
  if (route.kind === "report") return { kind: "report", house: own, event, report: await calls.report(route.id), forms: {} };
  const [gates, { items, next }, report] = await Promise.all([calls.gates(event.venue), calls.tickets(route.id, {}), calls.report(route.id)]);
  return {
    kind: "event",
    house: own,
    event,
    gates,
    categories,
    listing: { items, next, q: "", status: "", busy: false },
    report,
    forms: { search: form({ q: "", status: "" }), ...(categories.length === 0 && { category: form({ admits: "1" }) }) },
  };
}

/** A link may lead to another venue than the chosen one: the desk goes along. */
function of(house: Open, venue: string): Open {
  const chosen = house.venues.find((one) => one.venue === venue) ?? house.venue;
  return { ...house, ...at(house, chosen), venue: chosen };
}
