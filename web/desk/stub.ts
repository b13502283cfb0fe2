// The view of one ticket: what it is, what can be done, and its life so far.

import { h } from "../shared/dom.js";
import { asksWhy, deeds, life } from "./life.js";
import { badge, button, facts, field, formOf, handed, heading, link, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { Deed, TicketState } from "./state.js";

/** Deeds that take something away from somebody. */
const harsh: readonly Deed[] = ["revoke", "hold"];

export function stub(state: TicketState, p: Phrases): readonly Node[] {
  const { ticket, event } = state;
  return [
    h("p", { class: "back" }, link(event.name, format({ kind: "event", id: event.event }))),
    h(
      "div",
      { class: "two" },
      h(
        "div",
        {},
        h(
          "article",
          { class: "stub", "data-status": ticket.status },
          heading(p.say("desk.number", { number: String(ticket.number) }), h("p", { class: "over" }, [event.name, event.screen].filter((word) => word !== "").join(" · "))),
          h("p", { class: "large" }, badge(p, ticket.status)),
          sheet(state, p),
        ),
        h("div", { class: "slot" }, work(state, p)),
      ),
      timeline(state, p),
    ),
  ];
}

function sheet({ ticket, event }: TicketState, p: Phrases): HTMLElement {
  const people = p.say("desk.entries_of", { count: ticket.admits + ticket.extra, entries: String(ticket.entries) });
  return facts(
    [p.say("desk.holder"), ticket.holder.name || p.say("desk.no_name")],
    ticket.holder.email !== "" && [p.say("desk.email"), ticket.holder.email],
    ticket.seat !== "" && [p.say("desk.seat"), ticket.seat],
    [p.say("desk.category"), ticket.category_name],
    [p.say("desk.where"), p.word("desk.claim", ticket.claim)],
    [p.say("desk.entries"), people],
    ticket.used_at !== undefined && [p.say("desk.used_at"), p.moment(ticket.used_at, event.time_zone)],
    ticket.external_id !== "" && [p.say("desk.external_id"), ticket.external_id],
    [p.say("desk.start"), `${p.day(event.starts_at, event.time_zone)}, ${p.time(event.starts_at, event.time_zone)}`],
  );
}

function work(state: TicketState, p: Phrases): HTMLElement {
  if (state.handed !== undefined) return state.handed.what === "paper" ? paper(state, state.handed, p) : claimLink(state.handed, p);
  if (state.deed !== undefined) return ask(state, state.deed, p);
  const buttons = deeds(state.ticket, state.category?.paper === true).map((deed) =>
    h("button", { type: "button", id: `deed-${deed}`, "data-act": "deed", "data-on": deed }, p.word("desk.deed", deed)),
  );
  return h("div", { class: "buttons", role: "group", "aria-label": p.say("desk.to_do") }, ...buttons);
}

/** The second press: what it means, why, and whether. */
function ask(state: TicketState, deed: Deed, p: Phrases): HTMLElement {
  const parts = { p, id: "deed", form: state.forms["deed"] } as FormParts;
  const reason = asksWhy(deed) && field(parts, { name: "reason", label: "desk.reason", hint: "desk.reason_hint", ...(deed === "print" && { optional: true }) });
  return h(
    "section",
    { class: "panel ask", "aria-labelledby": "deed-title" },
    h("h2", { id: "deed-title", tabindex: -1 }, p.word("desk.deed_title", deed)),
    h("p", {}, p.word("desk.deed_text", deed)),
    formOf(parts, { text: p.word("desk.deed_go", deed), kind: harsh.includes(deed) ? "danger" : "main", beside: button(p.say("desk.cancel"), "escape", "", "quiet") }, reason),
  );
}

function claimLink(link: NonNullable<TicketState["handed"]>, p: Phrases): HTMLElement {
  return h(
    "section",
    { class: "panel result", "aria-labelledby": "handed-title" },
    h("h2", { id: "handed-title", tabindex: -1 }, p.say("desk.claim_link")),
    h("p", {}, p.say("desk.claim_link_text")),
    handed(p, link, p.say("desk.claim_alt")),
    h("p", { class: "buttons" }, button(p.say("desk.done"), "escape")),
  );
}

/** What is printed: this and nothing else of the page (desk.css). */
function paper({ ticket, event }: TicketState, { picture }: NonNullable<TicketState["handed"]>, p: Phrases): HTMLElement {
  const line = (text: string, kind = "") => (text === "" ? undefined : h("p", { class: kind }, text));
  return h(
    "section",
    { class: "panel result", "aria-labelledby": "paper-title" },
    h("h2", { id: "paper-title", tabindex: -1 }, p.say("desk.paper_title")),
    h("p", {}, p.say("desk.paper_text")),
    h(
      "div",
      { class: "paper" },
      line(event.venue_name),
      line(event.name, "paper-name"),
      line(`${p.day(event.starts_at, event.time_zone)}, ${p.time(event.starts_at, event.time_zone)}`),
      line([event.screen, ticket.seat].filter((word) => word !== "").join(" · "), "paper-place"),
      picture !== undefined && h("img", { class: "qr", src: picture, alt: p.say("desk.paper_alt") }),
      line([ticket.category_name, p.say("desk.number", { number: String(ticket.number) })].join(" · ")),
      line(ticket.holder.name),
    ),
    h("p", { class: "buttons" }, button(p.say("desk.print_now"), "print", "", "main"), button(p.say("desk.done"), "escape")),
  );
}

function timeline({ ticket, event }: TicketState, p: Phrases): HTMLElement {
  const items = life(ticket).map((moment) => {
    const line = p.line(moment);
    return h(
      "li",
      { "data-kind": moment.kind, "data-undone": line.undone && "true" },
      h("time", { class: "soft", datetime: moment.at }, p.moment(moment.at, event.time_zone, true)),
      h("p", {}, h("strong", {}, line.undone ? h("s", {}, line.title) : line.title), line.by !== "" && h("span", { class: "soft" }, ` · ${line.by}`)),
      ...line.more.filter((more) => more !== "").map((more) => h("p", { class: "more" }, more)),
    );
  });
  return h("section", { "aria-labelledby": "life-title" }, h("h2", { id: "life-title" }, p.say("desk.life")), h("ol", { class: "life" }, ...items));
}
