// The views of the house itself: venues, gates, and the devices at them.

import { h } from "../shared/dom.js";
import type { Device } from "./answers.js";
import { button, empty, field, formOf, handed, heading, link, notice, table, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { everywhere, type DevicesState, type State } from "./state.js";

type Of<K extends State["kind"]> = Extract<State, { kind: K }>;

export function venues(state: Of<"venues">, p: Phrases): readonly Node[] {
  const { house, forms } = state;
  const rows = house.venues.map((venue) => {
    const here = venue.venue === house.venue?.venue;
    return [venue.name, venue.time_zone, here ? h("span", { class: "soft" }, p.say("desk.here")) : button(p.say("desk.choose"), "venue", venue.venue)];
  });
  const list = rows.length > 0 && table(p.say("desk.nav_venues"), [p.say("desk.name"), p.say("desk.time_zone"), p.say("desk.to_do")], rows);
  const may = everywhere(house.me);
  return [
    heading(p.say(rows.length === 0 && may ? "desk.first_venue" : "desk.nav_venues")),
    list || h("p", {}, p.say(may ? "desk.no_venue" : "desk.no_venue_no_right")),
    may && forms["venue"] ? venueForm({ p, id: "venue", form: forms["venue"] }) : h("div", {}),
  ];
}

function venueForm(parts: FormParts): HTMLElement {
  const { p } = parts;
  const zones = h("datalist", { id: "zones" }, ...Intl.supportedValuesOf("timeZone").map((zone) => h("option", { value: zone })));
  return h(
    "section",
    { class: "panel", "aria-labelledby": "venue-title" },
    h("h2", { id: "venue-title" }, p.say("desk.add_venue")),
    formOf(
      parts,
      { text: p.say("desk.add_venue") },
      field(parts, { name: "name", label: "desk.name" }),
      field(parts, { name: "time_zone", label: "desk.time_zone", hint: "desk.time_zone_hint", list: "zones" }),
      zones,
    ),
  );
}

export function gates(state: Of<"gates">, p: Phrases): readonly Node[] {
  const { house, gates, forms } = state;
  const parts = { p, id: "gate", form: forms["gate"] } as FormParts;
  const items = gates.map((gate) => h("li", {}, gate.name));
  return [
    heading(p.say("desk.nav_gates"), h("p", { class: "over" }, house.venue.name)),
    items.length === 0 ? empty(p.say("desk.no_gates")) : h("ul", { class: "plain rows" }, ...items),
    h(
      "section",
      { class: "panel", "aria-labelledby": "gate-title" },
      h("h2", { id: "gate-title" }, p.say("desk.add_gate")),
      formOf(parts, { text: p.say("desk.add_gate") }, field(parts, { name: "name", label: "desk.name", hint: "desk.gate_hint" })),
    ),
    items.length > 0 ? h("p", {}, link(p.say("desk.to_devices"), "#/devices")) : h("p", {}),
  ];
}

export function devices(state: DevicesState, p: Phrases): readonly Node[] {
  const { house, devices } = state;
  const zone = house.venue.time_zone;
  const rows = devices.map((device) => [
    h("strong", {}, device.name),
    device.browser || "–",
    h("time", { datetime: device.paired_at }, p.moment(device.paired_at, zone)),
    device.revoked_at === null ? (device.person?.name ?? "–") : "–",
    device.revoked_at === null ? ending(device, state, p) : h("span", { class: "soft" }, p.say("desk.device_ended", { time: p.moment(device.revoked_at, zone) })),
  ]);
  const columns = [p.say("desk.name"), p.say("desk.browser"), p.say("desk.paired_at"), p.say("desk.signed_on"), p.say("desk.to_do")];
  return [
    heading(p.say("desk.nav_devices"), h("p", { class: "over" }, house.venue.name)),
    h("div", { class: "slot" }, state.pairing ? pairing(state.pairing, p) : pairForm(state, p)),
    rows.length === 0 ? empty(p.say("desk.no_devices")) : table(p.say("desk.nav_devices"), columns, rows),
  ];
}

function ending(device: Device, state: DevicesState, p: Phrases): HTMLElement {
  if (state.ending !== device.device) return button(p.say("desk.end_device"), "end", device.device);
  return h(
    "div",
    { class: "ask" },
    h("div", {}, notice(p, state.forms["end"]?.trouble, "trouble-end")),
    h("p", {}, p.say("desk.end_device_text", { name: device.name })),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "end-really", class: "danger", "data-act": "end_really", "data-on": device.device }, p.say("desk.end_device_really")), button(p.say("desk.keep"), "escape")),
  );
}

function pairForm(state: DevicesState, p: Phrases): HTMLElement {
  const parts = { p, id: "pair", form: state.forms["pair"] } as FormParts;
  return h(
    "section",
    { class: "panel", "aria-labelledby": "pair-title" },
    h("h2", { id: "pair-title" }, p.say("desk.pair")),
    h("p", {}, p.say("desk.pair_text")),
    formOf(parts, { text: p.say("desk.pair_link") }, field(parts, { name: "name", label: "desk.device_name", hint: "desk.device_name_hint", optional: true })),
  );
}

function pairing({ pairing, handed: link }: NonNullable<DevicesState["pairing"]>, p: Phrases): HTMLElement {
  const box = (title: string, ...children: (Node | string | false | undefined)[]) =>
    h("section", { class: "panel", "aria-labelledby": "pairing-title", "data-pairing": pairing.state }, h("h2", { id: "pairing-title", tabindex: -1 }, title), ...children);
  const device = pairing.device_name ?? p.say("desk.nameless");
  switch (pairing.state) {
    case "waiting":
      return box(
        p.say("desk.pairing_open"),
        h("p", {}, p.say("desk.pairing_open_text")),
        handed(p, link, p.say("desk.pairing_alt")),
        h("p", { class: "buttons" }, h("span", {}, `${p.say("desk.valid_for")} `, h("time", { class: "number", "data-until": pairing.expires_at }, "")), button(p.say("desk.cancel"), "refuse", "", "quiet")),
      );
    case "opened":
      return box(
        p.say("desk.this_one"),
        h("p", { class: "large" }, h("strong", {}, device), h("br"), pairing.browser ?? p.say("desk.unknown_browser")),
        h("p", {}, p.say("desk.this_one_text")),
        h("p", { class: "buttons" }, button(p.say("desk.this_one_yes"), "confirm", "", "main"), button(p.say("desk.this_one_no"), "refuse")),
      );
    case "confirmed":
      return box(p.say("desk.pairing_confirmed", { name: device }), h("p", {}, p.say("desk.pairing_confirmed_text")));
    case "collected":
      return box(p.say("desk.pairing_done", { name: device }), h("p", {}, p.say("desk.pairing_done_text")), button(p.say("desk.pair_another"), "pair_again"));
    case "refused":
      return box(p.say("desk.pairing_refused"), h("p", {}, p.say("desk.pairing_refused_text")), button(p.say("desk.pair_again"), "pair_again", "", "main"));
    case "expired":
      return box(p.say("desk.pairing_expired"), h("p", {}, p.say("desk.pairing_expired_text")), button(p.say("desk.pair_again"), "pair_again", "", "main"));
  }
}
