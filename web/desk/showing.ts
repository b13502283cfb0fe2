// The view of one event: how it stands, its categories, its tickets.

import { h } from "../shared/dom.js";
import { badge, button, check, counted, empty, field, formOf, heading, link, notice, select, table, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { EventState } from "./state.js";

export function showing(state: EventState, p: Phrases): readonly Node[] {
  const { event, categories } = state;
  const when = [p.day(event.doors_open_at, event.time_zone), p.hours(event)].join(" · ");
  const mails = link(p.say("desk.to_mails"), format({ kind: "mails", id: event.event }));
  const doors = link(p.say("desk.to_report"), format({ kind: "report", id: event.event }));
  const issue = categories.length > 0 && link(p.say("desk.issue"), format({ kind: "issue", id: event.event }), "button main");
  return [
    h("p", { class: "back" }, link(p.say("desk.to_events"), "#/")),
    h("div", { class: "bar" }, heading(event.name, h("p", { class: "over" }, [event.venue_name, event.screen].filter((word) => word !== "").join(" · "))), h("div", { class: "buttons" }, mails, doors, issue)),
    h("p", { class: "large" }, when),
    counts(state, p),
    h("div", { class: "two" }, tickets(state, p), h("div", {}, category(state, p), policy(state, p))),
  ];
}

function counts({ report }: EventState, p: Phrases): HTMLElement {
  const { issued, phone, paper, held, revoked } = report.tickets;
  return counted(
    p,
    { name: "issued", label: "desk.count_issued", value: issued - revoked },
    { name: "phone", label: "desk.count_phone", value: phone },
    { name: "paper", label: "desk.count_paper", value: paper },
    { name: "inside", label: "desk.count_inside", value: report.inside },
    held > 0 && { name: "held", label: "desk.count_held", value: held },
    revoked > 0 && { name: "revoked", label: "desk.count_revoked", value: revoked },
  );
}

function tickets(state: EventState, p: Phrases): HTMLElement {
  const { listing, forms } = state;
  const search = { p, id: "search", form: forms["search"] } as FormParts;
  const statuses = ["active", "used", "held", "revoked"].map((value) => ({ value, text: p.word("desk.status", value) }));
  return h(
    "section",
    { "aria-labelledby": "tickets-title" },
    h("h2", { id: "tickets-title" }, p.say("desk.tickets")),
    h(
      "form",
      { id: "form-search", class: "search", role: "search", "data-form": "search" },
      field(search, { name: "q", label: "desk.search", type: "search", optional: "silent" }),
      select(search, "status", "desk.state", [{ value: "", text: p.say("desk.every_state") }, ...statuses]),
    ),
    h("div", { "aria-live": "polite" }, notice(p, listing.trouble, "trouble-search")),
    h("div", { class: "listing", "aria-busy": listing.busy && "true" }, list(state, p)),
    h("p", { class: "buttons" }, listing.next !== "" && button(p.say("desk.more_tickets"), "more_tickets")),
  );
}

function list({ listing, categories }: EventState, p: Phrases): HTMLElement {
  if (listing.items.length === 0) {
    if (listing.q !== "" || listing.status !== "") return empty(p.say("desk.nothing_found"));
    return empty(p.say(categories.length === 0 ? "desk.no_tickets_no_category" : "desk.no_tickets"));
  }
  const rows = listing.items.map((ticket) => [
    link(String(ticket.number), format({ kind: "ticket", id: ticket.ticket }), "number title"),
    ticket.holder.name || ticket.holder.email || h("span", { class: "soft" }, p.say("desk.no_name")),
    ticket.seat || "–",
    ticket.category_name,
    p.word("desk.claim", ticket.claim),
    h("span", {}, badge(p, ticket.status), ticket.admits > 1 && h("span", { class: "soft number" }, ` ${ticket.entries}/${ticket.admits + ticket.extra}`)),
  ]);
  const columns = [p.say("desk.number_short"), p.say("desk.holder"), p.say("desk.seat"), p.say("desk.category"), p.say("desk.where"), p.say("desk.state")];
  return table(p.say("desk.tickets"), columns, rows);
}

function category(state: EventState, p: Phrases): HTMLElement {
  const { categories, forms, gates } = state;
  const names = new Map(gates.map((gate) => [gate.gate, gate.name]));
  const items = categories.map((one) => {
    const more = [
      ...(one.admits > 1 ? [p.say("desk.admits_people", { count: one.admits })] : []),
      p.say(one.paper ? "desk.paper_yes" : "desk.paper_no"),
      one.gates.length === 0 ? p.say("desk.every_gate") : p.list(one.gates.map((gate) => names.get(gate) ?? "?")),
    ];
    return h("li", {}, h("strong", {}, one.name), h("br"), h("span", { class: "soft" }, more.join(" · ")));
  });
  const form = forms["category"];
  return h(
    "section",
    { class: "panel", "aria-labelledby": "categories-title" },
    h("h2", { id: "categories-title", tabindex: -1 }, p.say("desk.categories")),
    items.length === 0 ? h("p", {}, p.say("desk.no_categories")) : h("ul", { class: "plain rows" }, ...items),
    form === undefined ? h("p", { class: "buttons" }, button(p.say("desk.add_category"), "open_category")) : categoryForm({ p, id: "category", form }, state),
  );
}

function categoryForm(parts: FormParts, { gates, categories }: EventState): HTMLElement {
  const { p } = parts;
  const boxes = gates.map((gate) => check(parts, `gate:${gate.gate}`, gate.name));
  const wrong = p.fault(parts.form, "gate");
  return formOf(
    parts,
    { text: p.say("desk.add_category"), beside: categories.length > 0 && button(p.say("desk.cancel"), "escape", "", "quiet") },
    field(parts, { name: "name", label: "desk.name", hint: "desk.category_hint" }),
    field(parts, { name: "admits", label: "desk.admits", hint: "desk.admits_hint", inputmode: "numeric", narrow: true }),
    check(parts, "paper", p.say("desk.paper"), "desk.paper_hint"),
    boxes.length > 0 && h("fieldset", {}, h("legend", {}, p.say("desk.only_gates")), ...boxes, h("p", { class: "hint" }, p.say("desk.only_gates_hint")), wrong !== undefined && h("p", { class: "fault" }, wrong)),
  );
}

function policy({ event }: EventState, p: Phrases): HTMLElement {
  const lines = p.policy(event.policy).map((line) => h("li", {}, line));
  return h(
    "section",
    { class: "panel", "aria-labelledby": "policy-title" },
    h("h2", { id: "policy-title" }, p.say("desk.at_the_door")),
    h("ul", { class: "plain rows" }, ...lines, h("li", {}, p.say("desk.claim_from_at", { time: p.moment(event.claim_from, event.time_zone) }))),
  );
}
