// The views of coming and going: one-time link, sign-in, first password, one's
// own account, and what is shown when nothing can be.

import { h } from "../shared/dom.js";
import { asksForCode, codeField, secondFactor } from "./factor.js";
import { button, field, formOf, heading, notice, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import type { AccountState, State } from "./state.js";

type Of<K extends State["kind"]> = Extract<State, { kind: K }>;

export function loading(p: Phrases): readonly Node[] {
  return [h("div", { class: "door" }, heading(p.say("desk.title")), h("p", {}, p.say("common.loading")))];
}

/** Mail scanners follow links and run scripts: only a press uses the link up. */
export function byLink(state: Of<"link">, p: Phrases): readonly Node[] {
  const { link } = state.forms;
  const me = state.me;
  return [
    h(
      "div",
      { class: "door" },
      heading(p.say("desk.link_title")),
      h("p", {}, p.say("desk.link_text")),
      link && formOf({ p, id: "link", form: link }, { text: p.say("desk.sign_in") }, asksForCode(link) && codeField({ p, id: "link", form: link })),
      h(
        "p",
        { class: "buttons" },
        me && button(p.say("desk.go_on_as", { name: me.name }), "go_on", "", "quiet"),
        !me && button(p.say("desk.by_password"), "by_password", "", "quiet"),
      ),
    ),
  ];
}

export function signIn(state: Of<"sign_in">, p: Phrases): readonly Node[] {
  const parts = { p, id: "sign_in", form: state.forms["sign_in"] } as FormParts;
  const why = state.why === "ended" ? p.say("desk.session_ended") : state.why === "signed_out" ? p.say("desk.signed_out") : p.say("desk.needs_link");
  return [
    h(
      "div",
      { class: "door" },
      heading(p.say("desk.sign_in_title")),
      h("p", {}, why),
      formOf(
        parts,
        { text: p.say("desk.sign_in") },
        field(parts, { name: "email", label: "desk.email", type: "email", autocomplete: "username", inputmode: "email" }),
        field(parts, { name: "password", label: "desk.password", type: "password", autocomplete: "current-password" }),
        asksForCode(parts.form) && codeField(parts),
      ),
      h("p", { class: "soft" }, p.say("desk.forgotten")),
    ),
  ];
}

export function firstPassword(state: Of<"password">, p: Phrases): readonly Node[] {
  const parts = { p, id: "password", form: state.forms["password"] } as FormParts;
  const { me } = state;
  const later = button(p.say(me.has_password ? "desk.keep_password" : "desk.later"), "go_on", "", "quiet");
  return [
    h(
      "div",
      { class: "door" },
      heading(p.say("desk.welcome", { name: me.name })),
      h("p", {}, p.say(me.has_password ? "desk.new_password_text" : "desk.first_password_text")),
      formOf(parts, { text: p.say("desk.set_password"), beside: later }, name(state.me.email), newPassword(parts)),
    ),
  ];
}

/** Password stores want to know whose password it is. */
function name(email: string | undefined): HTMLElement {
  return h("input", { type: "text", name: "username", autocomplete: "username", value: email ?? "", readonly: true, hidden: true });
}

function newPassword(parts: FormParts): HTMLElement {
  return field(parts, { name: "password", label: "desk.new_password", hint: "desk.password_hint", type: "password", autocomplete: "new-password" });
}

export function noRights(state: Of<"no_rights">, p: Phrases): readonly Node[] {
  return [
    h(
      "div",
      { class: "door" },
      heading(p.say("desk.no_rights_title")),
      h("p", {}, p.say("desk.no_rights_text", { name: state.me.name })),
      h("p", { class: "buttons" }, button(p.say("desk.sign_out"), "sign_out")),
    ),
  ];
}

export function failed(state: Of<"failed">, p: Phrases): readonly Node[] {
  return [
    h(
      "div",
      { class: state.house === undefined ? "door" : "" },
      heading(p.say("desk.failed_title")),
      notice(p, state.trouble, "trouble"),
      h("p", { class: "buttons" }, button(p.say("desk.try_again"), "retry", "", "main"), state.house && h("a", { href: "#/" }, p.say("desk.to_events"))),
    ),
  ];
}

export function account(state: AccountState, p: Phrases): readonly Node[] {
  const { me } = state.house;
  const password = { p, id: "password", form: state.forms["password"] } as FormParts;
  const pin = { p, id: "pin", form: state.forms["pin"] } as FormParts;
  return [
    heading(me.name, h("p", { class: "over" }, p.say("desk.nav_account"))),
    h("p", { class: "soft" }, me.email ?? ""),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "panel", "aria-labelledby": "password-title" },
        h("h2", { id: "password-title" }, p.say("desk.password")),
        formOf(
          password,
          { text: p.say("desk.set_password") },
          name(me.email),
          me.has_password && field(password, { name: "current", label: "desk.present_password", type: "password", autocomplete: "current-password" }),
          newPassword(password),
        ),
      ),
      h(
        "section",
        { class: "panel", "aria-labelledby": "pin-title" },
        h("h2", { id: "pin-title" }, p.say("desk.pin")),
        h("p", { class: "soft" }, p.say(me.has_pin ? "desk.pin_has" : "desk.pin_none")),
        formOf(
          pin,
          { text: p.say("desk.set_pin") },
          field(pin, { name: "pin", label: "desk.new_pin", hint: "desk.pin_hint", type: "password", inputmode: "numeric", autocomplete: "off", narrow: true }),
        ),
      ),
      secondFactor(state, p),
    ),
    h("p", { class: "buttons" }, button(p.say("desk.sign_out"), "sign_out")),
  ];
}
