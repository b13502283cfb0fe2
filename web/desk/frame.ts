// What stands around every view of somebody who is signed in: whose house it
// is, and the way to its rooms.

import { h } from "../shared/dom.js";
import type { Phrases } from "./phrases.js";
import { format, type Route } from "./route.js";
import type { House, State } from "./state.js";

const rooms = [
  { route: { kind: "events", past: false }, key: "desk.nav_events", of: ["events", "new_event", "event", "report", "mails", "issue", "ticket"] },
  { route: { kind: "gates" }, key: "desk.nav_gates", of: ["gates"] },
  { route: { kind: "devices" }, key: "desk.nav_devices", of: ["devices"] },
  { route: { kind: "people" }, key: "desk.nav_people", of: ["people", "person", "tokens"] },
  { route: { kind: "venues" }, key: "desk.nav_venues", of: ["venues"] },
  { route: { kind: "account" }, key: "desk.nav_account", of: ["account"] },
] as const satisfies readonly { route: Route; key: string; of: readonly State["kind"][] }[];

export function frame(state: State, p: Phrases): readonly Node[] {
  const skip = h("button", { type: "button", class: "skip", "data-act": "skip" }, p.say("desk.skip"));
  const brand = h("p", { class: "brand" }, p.say("common.product"));
  if (!("house" in state) || state.house === undefined) return [h("header", { class: "top" }, brand)];
  const { house } = state;
  const links = rooms
    .filter(({ route }) => house.venue !== undefined || route.kind === "venues" || route.kind === "account")
    .map(({ route, key, of }) => {
      const here = (of as readonly string[]).includes(state.kind);
      return h("li", {}, h("a", { href: format(route), "aria-current": here && "page" }, p.say(key)));
    });
  return [
    skip,
    h("header", { class: "top" }, brand, venueOf(house, p), h("nav", { "aria-label": p.say("desk.nav") }, h("ul", {}, ...links))),
  ];
}

function venueOf({ venue, venues }: House, p: Phrases): HTMLElement | undefined {
  if (venue === undefined) return undefined;
  const zone = p.foreign(venue.time_zone);
  const note = zone !== undefined && h("span", { class: "soft" }, ` ${zone}`);
  if (venues.length < 2) return h("p", { class: "venue" }, venue.name, note);
  const options = venues.map((one) => h("option", { value: one.venue, selected: one.venue === venue.venue }, one.name));
  return h("p", { class: "venue" }, h("label", { for: "venue", class: "spoken" }, p.say("desk.venue")), h("select", { id: "venue", "data-act": "venue" }, ...options), note);
}
