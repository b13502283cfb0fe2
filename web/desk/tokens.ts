// The view of API tokens: made for a purpose, shown once, ended at once.

import { h } from "../shared/dom.js";
import type { Token } from "./answers.js";
import { button, check, empty, field, formOf, heading, notice, select, table, type FormParts } from "./parts.js";
import { ways } from "./people.js";
import type { Phrases } from "./phrases.js";
import { everywhere, type TokensState } from "./state.js";

/** What a token may do, the least first. */
export const scopes = ["read", "issue", "scan", "admin"] as const;

export function tokens(state: TokensState, p: Phrases): readonly Node[] {
  const { house, tokens, made } = state;
  const zone = house.venue.time_zone;
  const rows = tokens.map((token) => [
    h("strong", {}, token.name),
    p.list(token.scopes.map((scope) => p.word("desk.scope", scope))),
    where(token, state, p),
    token.person_name,
    token.expires_at === null ? p.say("desk.never") : h("time", { datetime: token.expires_at }, p.day(token.expires_at, zone)),
    ending(token, state, p),
  ]);
  const columns = [p.say("desk.token_name"), p.say("desk.scopes"), p.say("desk.venue"), p.say("desk.token_acts_for"), p.say("desk.token_expires"), p.say("desk.to_do")];
  return [
    heading(p.say("desk.tokens")),
    ways(state, p),
    h("div", { class: "slot" }, made ? madeNow(made, p) : addForm(state, p)),
    rows.length === 0 ? empty(p.say("desk.no_tokens")) : table(p.say("desk.tokens"), columns, rows),
  ];
}

function where({ venue }: Token, { house }: TokensState, p: Phrases): string {
  if (venue === undefined) return p.say("desk.every_venue");
  return house.venues.find((one) => one.venue === venue)?.name ?? p.say("desk.another_venue");
}

function ending(token: Token, state: TokensState, p: Phrases): HTMLElement {
  const zone = state.house.venue.time_zone;
  if (token.revoked_at !== null) return h("span", { class: "soft" }, p.say("desk.device_ended", { time: p.moment(token.revoked_at, zone) }));
  if (state.ending !== token.token_id) return button(p.say("desk.end_token"), "end_token", token.token_id);
  return h(
    "div",
    { class: "ask" },
    h("div", {}, notice(p, state.forms["deed"]?.trouble, "trouble-deed")),
    h("p", {}, p.say("desk.end_token_text", { name: token.name })),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "end-really", class: "danger", "data-act": "end_token_really", "data-on": token.token_id }, p.say("desk.end_token_really")), button(p.say("desk.keep"), "escape")),
  );
}

function addForm({ house, forms }: TokensState, p: Phrases): HTMLElement {
  const parts = { p, id: "token", form: forms["token"] } as FormParts;
  const venues = house.venues.map(({ venue, name }) => ({ value: venue, text: name }));
  const days = ["30", "90", "365"].map((count) => ({ value: count, text: p.say("desk.in_days", { count: Number(count) }) }));
  const wrong = p.fault(parts.form, "scopes");
  return h(
    "section",
    { class: "panel", "aria-labelledby": "token-title" },
    h("h2", { id: "token-title" }, p.say("desk.add_token")),
    h("p", {}, p.say("desk.add_token_text")),
    formOf(
      parts,
      { text: p.say("desk.add_token_go") },
      field(parts, { name: "name", label: "desk.token_name", hint: "desk.token_name_hint" }),
      h(
        "fieldset",
        {},
        h("legend", {}, p.say("desk.scopes")),
        wrong !== undefined && h("p", { class: "fault" }, wrong),
        ...scopes.map((scope) => check(parts, `scope.${scope}`, p.word("desk.scope", scope), `desk.scope_text.${scope}`)),
      ),
      h(
        "div",
        { class: "grid" },
        select(parts, "venue", "desk.venue", everywhere(house.me) ? [{ value: "", text: p.say("desk.every_venue") }, ...venues] : venues),
        select(parts, "days", "desk.token_expires", [...days, { value: "", text: p.say("desk.never") }]),
      ),
    ),
  );
}

function madeNow({ name, token }: Token, p: Phrases): HTMLElement {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "made-title" },
    h("h2", { id: "made-title", tabindex: -1 }, p.say("desk.token_made", { name })),
    h("p", {}, p.say("desk.token_made_text")),
    h(
      "div",
      { class: "handed alone" },
      h("div", {}, h("label", { for: "handed-text" }, p.say("desk.token")), h("input", { id: "handed-text", readonly: true, value: token ?? "", "data-copy": true }), button(p.say("desk.copy"), "copy", token ?? "")),
    ),
    h("p", { class: "buttons" }, button(p.say("desk.token_kept"), "token_kept")),
  );
}
