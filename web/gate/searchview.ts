// Finding a guest: the field, who was found, and one ticket's card.

import { h } from "../shared/dom.js";
import type { FoundTicket } from "./answers.js";
import { back, judgements } from "./parts.js";
import type { Phrases } from "./phrases.js";
import type { Search } from "./search.js";
import type { Acts, Work } from "./state.js";

/** The panel of the search. */
export function searching(work: Work, search: Search, phrases: Phrases, acts: Acts): readonly Node[] {
  const { chosen } = search;
  return [h("div", { class: "search" }, ...(chosen === undefined ? asked(search, phrases, acts) : card(work, search, chosen, phrases, acts)))];
}

function asked({ q, busy, found, trouble }: Search, phrases: Phrases, acts: Acts): readonly Node[] {
  const field = h("input", { id: "search", "data-focus": found === undefined, autocomplete: "off", autocapitalize: "words", spellcheck: "false", enterkeyhint: "search", maxlength: 4096, required: true });
  field.value = q;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!busy && field.value.trim() !== "") acts.search(field.value);
  };
  return [
    h(
      "form",
      { class: "typing", onsubmit: submit },
      h("label", { for: "search" }, phrases.say("gate.search_label")),
      field,
      ...(trouble === undefined ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.trouble(trouble))]),
      h("div", { class: "row" }, h("button", { class: "main", id: "find", disabled: busy }, phrases.say("gate.search")), back(() => acts.open("none"), phrases)),
    ),
    ...(busy ? [h("p", { role: "status" }, phrases.say("common.loading"))] : []),
    ...(found === undefined ? [] : [h("p", { class: "found", role: "status", tabindex: -1, "data-focus": true }, outcome(found.items.length, found.more, phrases))]),
    ...(found === undefined || found.items.length === 0 ? [] : [h("ul", {}, ...found.items.map((one) => h("li", {}, line(one, phrases, acts))))]),
  ];
}

function outcome(count: number, more: boolean, phrases: Phrases): string {
  if (count === 0) return phrases.say("gate.search_none");
  return more ? phrases.say("gate.search_more", { count }) : phrases.say("gate.search_found", { count });
}

/** One line of the list. It opens the card and does nothing else: a slip of the finger admits nobody. */
function line(one: FoundTicket, phrases: Phrases, acts: Acts): Node {
  const number = phrases.say("gate.number", { number: String(one.number) });
  const where = [one.event_name, one.screen, one.seat, one.holder === undefined ? "" : number].filter((word) => word !== "").join(" · ");
  return h("button", { id: `found-${one.ticket}`, onclick: () => acts.choose(one.ticket) }, h("strong", {}, one.holder ?? number), h("small", {}, where));
}

function card({ direction }: Work, { found, asking }: Search, one: FoundTicket, phrases: Phrases, acts: Acts): readonly Node[] {
  const now = found?.server_time ?? one.starts_at;
  const time = (at: string) => phrases.time(at, one.time_zone, now);
  const number = phrases.say("gate.number", { number: String(one.number) });
  const { last_use: use } = one;
  const lines = [
    [one.category, ...(one.holder === undefined ? [] : [number])].join(" · "),
    one.event_name,
    phrases.say("gate.doors_and_start", { doors: time(one.doors_open_at), start: time(one.starts_at) }),
    phrases.say(`gate.claim_${one.claim}`),
    ...(one.status === "held" || one.status === "revoked" ? [phrases.reason(one.status)] : []),
    ...(use === undefined ? [] : [[phrases.say("gate.used_ago", { ago: phrases.ago(use.seconds_ago) }), use.gate_name, use.person].join(" · ")]),
    ...(one.admits > 1 ? [phrases.say("gate.remaining", { count: one.remaining })] : []),
  ];
  const place = [one.screen, one.seat].filter((word) => word !== "");
  return [
    h("h2", { tabindex: -1, "data-focus": !asking }, one.holder ?? number),
    ...(place.length > 0 ? [h("p", { class: "where" }, place.join(" · "))] : []),
    ...lines.map((words) => h("p", {}, words)),
    ...(asking ? why(phrases, acts) : choices(one, direction, phrases, acts)),
  ];
}

function choices(one: FoundTicket, direction: "in" | "out", phrases: Phrases, acts: Acts): readonly Node[] {
  const may = one.actions.includes("admit");
  return [
    ...(may && direction === "in" ? [h("button", { class: "wide", id: "look-up", onclick: () => acts.askLookUp(true) }, phrases.say("gate.look_up"))] : []),
    ...(may || one.status !== "active" ? [] : [h("p", { class: "soft" }, phrases.say("gate.look_up_not"))]),
    back(() => acts.choose(), phrases),
  ];
}

/** The second press is the reason. Enter does nothing before, since hand scanners send it. */
function why(phrases: Phrases, acts: Acts): readonly Node[] {
  const ready = judgements.map((key, n) => h("button", { id: `look-up-${n}`, onclick: () => acts.lookUp(phrases.say(key)) }, phrases.say(key)));
  return [
    h("h3", { tabindex: -1, "data-focus": true }, phrases.say("gate.look_up_why")),
    h("div", { class: "why" }, ...ready),
    h("button", { type: "button", id: "look-up-cancel", class: "quiet", onclick: () => acts.askLookUp(false) }, phrases.say("gate.cancel")),
  ];
}
