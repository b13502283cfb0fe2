// The page that asks for the digits of a mail, and the one that asks the holder
// whether a move was theirs.

import { h } from "../shared/dom.js";
import { canStop } from "./moving.js";
import { button } from "./plain.js";
import { movable } from "./stack.js";
import type { Acts, MoveState, MoveTrouble, NotMeState } from "./state.js";
import type { Words } from "./words.js";

export function move(state: MoveState, words: Words, acts: Acts): readonly Node[] {
  const count = movable(state.offer).length;
  const head = [h("h1", { tabindex: -1, "data-say": true }, words.say("wallet.move_title")), h("p", { id: "mailed" }, words.say("wallet.move_mailed", { to: state.to }))];
  if (state.step !== "ask") {
    const text = state.step === "checking" ? words.say("wallet.move_checking", { count }) : words.say("wallet.claim_waits");
    return [h("div", { class: "plain" }, ...head, h("p", { class: "strong", "data-say": true }, text))];
  }
  const wrong = state.trouble !== undefined;
  const field = h("input", {
    id: "digits",
    class: "wide number",
    value: state.digits,
    inputmode: "numeric",
    autocomplete: "one-time-code",
    maxlength: 12,
    required: true,
    "aria-describedby": wrong ? "trouble" : "mailed",
    "aria-invalid": wrong ? "true" : undefined,
  });
  const form = h(
    "form",
    {
      novalidate: true,
      onsubmit: (event: SubmitEvent) => {
        event.preventDefault();
        acts.moveGo(field.value);
      },
    },
    h("label", { for: "digits" }, words.say("wallet.move_digits")),
    field,
    state.trouble !== undefined && h("p", { id: "trouble", class: "strong", "data-say": true }, trouble(state.trouble, words)),
    h("button", { id: "move-go", class: "wide main" }, words.say("wallet.move", { count })),
  );
  return [h("div", { class: "plain" }, ...head, form, button(words, "wallet.move_again", acts.moveAgain))];
}

function trouble(it: MoveTrouble, words: Words): string {
  switch (it.kind) {
    case "eight":
      return words.say("wallet.move_eight");
    case "wrong":
      return words.say("wallet.move_wrong", { count: it.left });
    case "ended":
      return words.say("wallet.move_ended");
    case "many":
      return words.say("wallet.move_many", { count: it.minutes });
  }
}

export function notMe({ moved, step }: NotMeState, words: Words, acts: Acts): readonly Node[] {
  const { event, at, browser, tickets, server_time } = moved;
  const count = tickets.length;
  const time = words.time(at, event.time_zone, Date.parse(server_time));
  const what = browser === "" ? words.say("wallet.not_me_moved", { time, count }) : words.say("wallet.not_me_moved_to", { time, browser, count });
  const items = tickets.map((ticket) =>
    h("li", {}, h("span", {}, words.ticket(ticket)), ticket.held && h("span", { class: "soft" }, words.say("wallet.offer_held"))),
  );
  return [
    h(
      "div",
      { class: "landing" },
      h("header", { class: "playbill" }, h("h1", { tabindex: -1 }, words.say("wallet.not_me_title")), h("p", { class: "place" }, [event.name, event.venue_name].join(" · "))),
      h("p", {}, what),
      h("section", { class: "tickets" }, h("h2", { class: "soft" }, words.say("wallet.count", { count })), h("ul", {}, ...items)),
      ...stop({ kind: "not_me", moved, step }, words, acts),
    ),
  ];
}

function stop({ moved, step }: NotMeState, words: Words, acts: Acts): readonly Node[] {
  const count = moved.tickets.length;
  const say = (text: string) => h("p", { class: "strong", "data-say": true }, text);
  if (step === "sending") return [say(words.say("common.loading"))];
  if (step === "late" || step === "settled") return [say(words.say(`wallet.not_me_${step}`))];
  if (canStop(moved)) {
    const explained = h("p", { id: "what" }, words.say("wallet.not_me_text", { count }));
    const press = h("button", { type: "button", id: "not-me", class: "wide main", "aria-describedby": "what", onclick: acts.notMe }, words.say("wallet.not_me", { count }));
    return step === "unreachable" ? [explained, say(words.say("wallet.unreachable")), press] : [explained, press];
  }
  if (moved.tickets.some((ticket) => ticket.held)) return [say(words.say("wallet.not_me_held", { count }))];
  return [say(words.say(Date.parse(moved.server_time) >= Date.parse(moved.event.doors_open_at) ? "wallet.not_me_late" : "wallet.not_me_settled"))];
}
