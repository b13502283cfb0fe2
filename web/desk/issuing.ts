// The view of issuing tickets, and of what came of it: numbers and one link.

import { h } from "../shared/dom.js";
import { button, field, formOf, handed, heading, link, select, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { IssueState } from "./state.js";

export function issuing(state: IssueState, p: Phrases): readonly Node[] {
  const { event, issued } = state;
  const back = format({ kind: "event", id: event.event });
  const title = heading(p.say("desk.issue"), h("p", { class: "over" }, [event.name, p.moment(event.starts_at, event.time_zone)].join(" · ")));
  return [
    h("p", { class: "back" }, link(event.name, back)),
    ...(issued === undefined ? [h("section", { class: "sheet", "data-sheet": true, "aria-labelledby": "title" }, title, number(state, p), orderForm(state, p))] : [title, result(state, issued, p)]),
  ];
}

/** The number that the first ticket will have. A screen reader hears when it becomes another. */
function number({ kept, forms }: IssueState, p: Phrases): HTMLElement {
  const told = forms["issue"]?.trouble?.code === "number.lease_lost";
  return h(
    "div",
    { class: "kept", role: "status" },
    h("p", { class: "start", id: "kept" }, p.say("desk.number", { number: String(kept?.number ?? "…") })),
    kept?.was !== undefined && !told
      ? h("p", { class: "moved", id: "moved" }, p.say("desk.number_moved", { was: String(kept.was), number: String(kept.number) }))
      : h("p", { class: "hint" }, p.say(kept === undefined ? "desk.number_coming" : "desk.number_kept")),
  );
}

function orderForm(state: IssueState, p: Phrases): HTMLElement {
  const parts = { p, id: "issue", form: state.forms["issue"] } as FormParts;
  const categories = state.categories.map(({ category, name }) => ({ value: category, text: name }));
  return formOf(
    parts,
    { text: p.say("desk.issue_go"), beside: button(p.say("desk.cancel"), "cancel", "", "quiet") },
    h("div", { class: "grid" }, select(parts, "category", "desk.category", categories), field(parts, { name: "count", label: "desk.how_many", inputmode: "numeric", narrow: true })),
    h(
      "div",
      { class: "grid" },
      field(parts, { name: "holder.name", label: "desk.holder_name", optional: true }),
      field(parts, { name: "holder.email", label: "desk.email", type: "email", inputmode: "email", optional: true }),
    ),
    h(
      "div",
      { class: "grid" },
      field(parts, { name: "seat", label: "desk.seats", hint: "desk.seats_hint", optional: true }),
      field(parts, { name: "external_id", label: "desk.external_id", hint: "desk.external_id_hint", optional: true }),
    ),
  );
}

function result(state: IssueState, issued: NonNullable<IssueState["issued"]>, p: Phrases): HTMLElement {
  const { tickets } = issued;
  const shown = tickets.slice(0, 20).map(({ ticket, number, seat }) =>
    h("li", {}, link(p.say("desk.number", { number: String(number) }), format({ kind: "ticket", id: ticket })), seat !== "" && ` · ${seat}`),
  );
  const rest = tickets.length - shown.length;
  return h(
    "section",
    { class: "panel result", "aria-labelledby": "issued-title" },
    h("h2", { id: "issued-title", tabindex: -1 }, p.say("desk.issued", { count: tickets.length, number: numbers(tickets.map(({ number }) => number)) })),
    h("p", {}, p.say("desk.issued_text", { count: tickets.length })),
    handed(p, issued.handed, p.say("desk.claim_alt")),
    h("ul", { class: "plain inline" }, ...shown, rest > 0 && h("li", { class: "soft" }, p.say("desk.and_more", { count: rest }))),
    h("p", { class: "buttons" }, button(p.say("desk.issue_another"), "another", "", "main"), link(p.say("desk.to_event"), format({ kind: "event", id: state.event.event }))),
  );
}

/** Numbers as people write them: 7, 12–15. They are names and take no thousands separator. */
export function numbers(all: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const number of all) {
    const last = runs.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ");
}
