// The views of the programme: the list of events, and a new one.

import { h } from "../shared/dom.js";
import type { Event } from "./answers.js";
import { button, check, choice, empty, field, formOf, heading, link, select, table, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { State } from "./state.js";
import { partOf, type Part } from "./when.js";

type Of<K extends State["kind"]> = Extract<State, { kind: K }>;

export function events(state: Of<"events">, p: Phrases): readonly Node[] {
  const { house, events, past, now } = state;
  const of = (part: Part) => events.filter((event) => partOf(event, now) === part);
  const over = of("over").reverse();
  const add = link(p.say("desk.add_event"), format({ kind: "new_event" }), "button main");
  return [
    h("div", { class: "bar" }, heading(p.say("desk.nav_events"), h("p", { class: "over" }, house.venue.name)), add),
    events.length === 0
      ? empty(p.say(past ? "desk.no_events_ever" : "desk.no_events"))
      : h("div", { class: "programme" }, section("tonight", of("tonight"), p), section("coming", of("coming"), p), past && section("over", over, p)),
    h(
      "p",
      { class: "buttons" },
      state.next !== "" && button(p.say("desk.more_events"), "more_events"),
      past ? link(p.say("desk.without_past"), "#/") : link(p.say("desk.with_past"), "#/past"),
    ),
  ];
}

function section(part: Part, events: readonly Event[], p: Phrases): HTMLElement {
  const title = { tonight: p.say("desk.tonight"), coming: p.say("desk.coming"), over: p.say("desk.over") }[part];
  if (events.length === 0) return h("section", { hidden: part !== "tonight" }, h("h2", {}, title), h("p", { class: "soft" }, p.say("desk.nothing_tonight")));
  // By the doors as they come; tonight's by their start, as on a playbill.
  const inOrder = part === "tonight" ? events.toSorted((a, b) => Date.parse(a.starts_at) - Date.parse(b.starts_at)) : events;
  const rows = inOrder.map((event) => [
    h("time", { class: "start", datetime: event.starts_at }, p.time(event.starts_at, event.time_zone)),
    h("div", {}, link(event.name, format({ kind: "event", id: event.event }), "title"), part !== "tonight" && h("div", { class: "soft" }, p.day(event.starts_at, event.time_zone))),
    event.screen,
    p.time(event.doors_open_at, event.time_zone),
    p.time(event.ends_at, event.time_zone),
  ]);
  const columns = [p.say("desk.start"), p.say("desk.event"), p.say("desk.screen"), p.say("desk.doors"), p.say("desk.end")];
  return h("section", { class: "part", "data-part": part }, h("h2", {}, title), table(title, columns, rows));
}

export function newEvent(state: Of<"new_event">, p: Phrases): readonly Node[] {
  const parts = { p, id: "event", form: state.forms["event"] } as FormParts;
  const options = (name: "freshness" | "rescan", values: readonly string[]) =>
    values.map((value) => ({ value, title: p.word(`desk.${name}`, value), text: p.word(`desk.${name}_text`, value) }));
  return [
    heading(p.say("desk.add_event"), h("p", { class: "over" }, state.house.venue.name)),
    formOf(
      parts,
      { text: p.say("desk.add_event_go"), beside: link(p.say("desk.cancel"), "#/") },
      h("div", { class: "grid" }, field(parts, { name: "name", label: "desk.event_name" }), field(parts, { name: "screen", label: "desk.screen", hint: "desk.screen_hint", optional: true })),
      h(
        "div",
        { class: "grid four" },
        field(parts, { name: "date", label: "desk.date", type: "date" }),
        field(parts, { name: "doors_open_at", label: "desk.doors", type: "time" }),
        field(parts, { name: "starts_at", label: "desk.start", type: "time" }),
        field(parts, { name: "ends_at", label: "desk.end", type: "time" }),
      ),
      h("p", { class: "hint" }, p.say("desk.times_hint", { zone: state.house.venue.time_zone })),
      select(parts, "claim_from", "desk.claim_from", [
        { value: "days", text: p.say("desk.claim_days") },
        { value: "at_once", text: p.say("desk.claim_at_once") },
      ]),
      h("h2", {}, p.say("desk.at_the_door")),
      choice(parts, "policy.freshness", "desk.freshness_legend", options("freshness", ["live", "assisted", "open"])),
      choice(parts, "policy.rescan", "desk.rescan_legend", options("rescan", ["strict", "show_time", "recover"])),
      field(parts, { name: "policy.rescan_window_s", label: "desk.rescan_window", hint: "desk.rescan_window_hint", inputmode: "numeric", narrow: true }),
      check(parts, "policy.reentry", p.say("desk.reentry"), "desk.reentry_hint"),
      check(parts, "policy.show_names", p.say("desk.show_names"), "desk.show_names_hint"),
    ),
  ];
}
