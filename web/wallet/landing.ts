// The page behind a link: what it is for, what a press of the one button does,
// and if it can do nothing now, why and when.

import { h } from "../shared/dom.js";
import type { Offer } from "./answers.js";
import { button } from "./plain.js";
import { claimable, linkStands, movable } from "./stack.js";
import type { Acts, OfferState } from "./state.js";
import type { Words } from "./words.js";

export function offer(state: OfferState, words: Words, acts: Acts): readonly Node[] {
  const parts = [
    playbill(state.offer, words),
    tickets(state.offer, words),
    ...action(state, words, acts),
    ...(state.others && state.step === "ask" ? [button(words, "wallet.to_tickets", acts.toTickets)] : []),
  ];
  return [h("div", { class: "landing" }, ...parts)];
}

function playbill({ event }: Offer, words: Words): HTMLElement {
  const zone = event.time_zone;
  const place = [event.venue_name, event.screen].filter((part) => part !== "").join(" · ");
  const times = { doors: words.bare(event.doors_open_at, zone), start: words.time(event.starts_at, zone, Date.parse(event.starts_at)) };
  return h(
    "header",
    { class: "playbill" },
    h("h1", { tabindex: -1 }, event.name),
    h("p", { class: "place" }, place),
    h("p", { class: "when number" }, h("span", {}, words.day(event.starts_at, zone)), h("br"), words.say("wallet.doors_and_start", times)),
  );
}

function tickets({ event, tickets, server_time }: Offer, words: Words): HTMLElement {
  const items = tickets.map((ticket) => {
    const why = words.offered(ticket, event.time_zone, Date.parse(server_time));
    return h("li", {}, h("span", {}, words.ticket(ticket)), why !== "" && h("span", { class: "soft" }, why));
  });
  return h("section", { class: "tickets" }, h("h2", { class: "soft" }, words.say("wallet.count", { count: tickets.length })), h("ul", {}, ...items));
}

function action(state: OfferState, words: Words, acts: Acts): readonly Node[] {
  const { event, claim_from, server_time, tickets } = state.offer;
  switch (linkStands(state.offer)) {
    case "ready":
      return ready(state, words, acts);
    case "early": {
      const time = words.time(claim_from, event.time_zone, Date.parse(server_time));
      return [say("wallet.early", { time, count: tickets.length }), button(words, "wallet.calendar", acts.calendar, "main")];
    }
    case "taken":
      return taken(state, words, acts) ?? [say("wallet.taken", { count: tickets.length })];
    case "gone":
      return Date.parse(server_time) >= Date.parse(event.ends_at) ? [say("wallet.over")] : [say("wallet.gone")];
  }
  function say(key: Parameters<Words["say"]>[0], values: Parameters<Words["say"]>[1] = {}): HTMLElement {
    return h("p", { class: "strong", "data-say": true }, words.say(key, values));
  }
}

/** Another phone has the tickets, and digits by mail would bring them here; undefined when they would not. */
function taken(state: OfferState, words: Words, acts: Acts): readonly Node[] | undefined {
  const count = movable(state.offer).length;
  if (count === 0) return undefined;
  if (state.step === "mailing") return [h("p", { class: "strong", "data-say": true }, words.say("wallet.move_mailing"))];
  const what = h("p", { id: "what" }, words.say("wallet.move_text", { to: state.offer.move_to, count }));
  const press = h("button", { type: "button", id: "move", class: `wide ${state.app === undefined ? "main" : ""}`, "aria-describedby": "what", onclick: acts.move }, words.say("wallet.move", { count }));
  return state.app === undefined ? [what, press] : [elsewhere(state.app, state.copied, words, acts), what, press];
}

function ready(state: OfferState, words: Words, acts: Acts): readonly Node[] {
  const count = claimable(state.offer).length;
  if (state.step !== "ask") {
    const text = state.step === "claiming" ? "wallet.claiming" : "wallet.claim_waits";
    return [h("p", { class: "strong", "data-say": true }, words.say(text))];
  }
  const what = h("p", { id: "what" }, words.say("wallet.what_happens", { count }));
  const put = h("button", { type: "button", id: "put", class: `wide ${state.app === undefined ? "main" : ""}`, "aria-describedby": "what", onclick: acts.claim }, words.say("wallet.put", { count }));
  if (state.app === undefined) return [put, what];
  return [elsewhere(state.app, state.copied, words, acts), put, what];
}

/** An app's own browser is told before the button: it may forget the ticket. */
function elsewhere(app: string, copied: boolean, words: Words, acts: Acts): HTMLElement {
  const text = app === "" ? words.say("wallet.in_app") : words.say("wallet.in_app_of", { app });
  return h(
    "section",
    { class: "elsewhere" },
    h("h2", {}, words.say("wallet.in_app_title")),
    h("p", {}, text),
    button(words, "wallet.copy_link", acts.copyLink, "main"),
    h("p", { class: "soft", "data-say": copied }, copied && words.say("wallet.copied")),
  );
}
