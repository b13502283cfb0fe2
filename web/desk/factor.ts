// The second factor of whoever is signed in: set up with an authenticator app,
// kept by recovery codes, taken away again.

import { h } from "../shared/dom.js";
import * as calls from "./calls.js";
import { button, field, formOf, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { closed, opened, type AccountState, type Form } from "./state.js";
import type { Step } from "./submitting.js";

/** Whether a sign-in that was sent lacks the code of the second factor, or had one. */
export function asksForCode({ values, trouble }: Form): boolean {
  return values["otp"] !== undefined || trouble?.code.startsWith("session.otp_") === true;
}

/** The field for a code of the app, or a recovery code. */
export function codeField(parts: FormParts): HTMLElement {
  return field(parts, { name: "otp", label: "desk.otp", hint: "desk.otp_hint", autocomplete: "one-time-code", narrow: true });
}

export function secondFactor(state: AccountState, p: Phrases): HTMLElement {
  const { factor, house } = state;
  const title = h("h2", { id: "factor-title", tabindex: -1 }, p.say(factor?.kind === "codes" ? "desk.recovery_codes" : "desk.second_factor"));
  return h("section", { class: "panel", "aria-labelledby": "factor-title" }, title, ...(factor === undefined ? (house.me.has_second_factor ? present(state, p) : absent(state, p)) : factor.kind === "begun" ? begun(state, factor, p) : codes(factor.codes, p)));
}

const partsOf = (state: AccountState, p: Phrases) => ({ p, id: "factor", form: state.forms["factor"] }) as FormParts;

const presentPassword = (state: AccountState, parts: FormParts) =>
  state.house.me.has_password && field(parts, { name: "current", label: "desk.present_password", type: "password", autocomplete: "current-password" });

function absent(state: AccountState, p: Phrases): readonly HTMLElement[] {
  const parts = partsOf(state, p);
  return [h("p", { class: "soft" }, p.say("desk.factor_none")), formOf(parts, { text: p.say("desk.factor_begin") }, presentPassword(state, parts))];
}

function begun(state: AccountState, { secret, handed }: Extract<AccountState["factor"], { kind: "begun" }>, p: Phrases): readonly HTMLElement[] {
  const parts = partsOf(state, p);
  const image = handed.picture === undefined ? h("div", { class: "qr", "aria-hidden": "true" }) : h("img", { class: "qr", src: handed.picture, alt: p.say("desk.factor_alt") });
  // In fours, since it may be typed.
  const typed = h("div", {}, h("p", {}, p.say("desk.factor_typed")), h("p", { class: "number secret" }, secret.replace(/(.{4})(?=.)/g, "$1 ")));
  return [
    h("p", {}, p.say("desk.factor_scan")),
    h("div", { class: "handed" }, image, typed),
    formOf(parts, { text: p.say("desk.factor_confirm"), beside: button(p.say("desk.cancel"), "escape", "", "quiet") }, field(parts, { name: "code", label: "desk.factor_code", autocomplete: "one-time-code", inputmode: "numeric", narrow: true })),
  ];
}

function codes(all: readonly string[], p: Phrases): readonly HTMLElement[] {
  const text = all.join("\n");
  return [
    h("p", {}, p.say("desk.recovery_text")),
    h("ol", { class: "plain codes", id: "recovery" }, ...all.map((code) => h("li", { class: "number" }, code))),
    h("p", { class: "buttons" }, button(p.say("desk.copy"), "copy", text), button(p.say("desk.recovery_kept"), "factor_done", "", "main")),
  ];
}

function present(state: AccountState, p: Phrases): readonly HTMLElement[] {
  const parts = partsOf(state, p);
  return [h("p", { class: "soft" }, p.say("desk.factor_present")), formOf(parts, { text: p.say("desk.factor_remove"), kind: "danger" }, presentPassword(state, parts), codeField(parts))];
}

/** Carries the form out that is shown for the second factor. */
export async function submitFactor(state: AccountState, { key, values }: Form): Promise<Step> {
  const of = (name: string) => values[name] ?? "";
  const { factor, house } = state;
  const now = (there: boolean): AccountState => ({ ...opened(state, "factor"), house: { ...house, me: { ...house.me, has_second_factor: there } } });
  if (factor?.kind === "begun") {
    const { recovery_codes } = await calls.confirmFactor(of("code"), key);
    return { kind: "stay", state: { ...closed(now(true), "factor"), factor: { kind: "codes", codes: recovery_codes } }, focus: "factor-title" };
  }
  if (house.me.has_second_factor) {
    await calls.removeFactor(of("current"), of("otp"));
    return { kind: "stay", state: now(false), said: "desk.factor_removed", focus: "factor-title" };
  }
  const { secret, uri } = await calls.beginFactor(of("current"));
  return { kind: "stay", state: { ...opened(state, "factor"), factor: { kind: "begun", secret, handed: await calls.hand(uri) } }, focus: "factor-code" };
}

/** Puts away what is shown once; what was begun and not confirmed counts for nothing. */
export function withoutFactor(state: AccountState): AccountState {
  const { factor: _, ...plain } = opened(state, "factor");
  return plain;
}
