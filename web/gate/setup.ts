// The screens before work begins: pairing, signing on, choosing the gate, and
// Start. Each is a heading, a sentence and what can be done now.

import { h } from "../shared/dom.js";
import type { Class } from "./answers.js";
import type { Phrases } from "./phrases.js";
import { shape } from "./shapes.js";
import type { Acts, Page, State, Trouble } from "./state.js";

type Of<K extends State["kind"]> = Extract<State, { kind: K }>;

/** Draws any state but working. */
export function setup({ state, update }: Page, phrases: Phrases, acts: Acts): readonly Node[] {
  const nodes = screen(state, phrases, acts);
  const between = update && state.kind !== "pairing" && state.kind !== "confirming";
  return between ? [...nodes, h("p", { class: "update" }, h("button", { onclick: () => acts.update(), id: "update" }, phrases.say("gate.new_version")))] : nodes;
}

function screen(state: State, phrases: Phrases, acts: Acts): readonly Node[] {
  switch (state.kind) {
    case "loading":
      return [heading(phrases.say("gate.title")), h("p", { role: "status" }, phrases.say("common.loading"))];
    case "unpaired":
      return [heading(phrases.say("gate.title")), ...alarm(state.trouble, phrases), h("p", {}, phrases.say("gate.needs_link")), h("p", { class: "soft" }, phrases.say("gate.needs_link_how")), ...former(state, phrases, acts)];
    case "pairing":
      return pairing(state, phrases, acts);
    case "confirming":
      return [
        heading(phrases.say("gate.confirm_title")),
        h("p", { role: "status" }, phrases.say("gate.confirm_text", { name: state.name })),
        h("p", { class: "device-name" }, state.name),
        ...(state.online ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.say("gate.no_network"))]),
      ];
    case "unreachable":
      return [
        heading(phrases.say("gate.no_network_title")),
        h("p", { role: "status" }, phrases.say("gate.no_network")),
        h("button", { class: "main wide", id: "retry", onclick: () => acts.retry() }, phrases.say("gate.try_now")),
        ...onward(state, phrases, acts),
      ];
    case "sign_on":
      return signOn(state, phrases, acts);
    case "choose_gate":
      return chooseGate(state, phrases, acts);
    case "ready":
      return ready(state, phrases, acts);
    case "working":
      return [];
  }
}

/** What a former device of this browser has left to tell. */
function former({ unsent }: Of<"unpaired">, phrases: Phrases, acts: Acts): readonly Node[] {
  if (unsent === 0) return [];
  return [h("p", { role: "status" }, phrases.say("gate.former_unsent", { count: unsent })), h("button", { class: "wide", id: "hand-in", onclick: () => acts.handIn() }, phrases.say("gate.former_hand_in"))];
}

/** The way on without network for whoever worked here last. */
function onward({ onward: last }: Of<"unreachable">, phrases: Phrases, acts: Acts): readonly Node[] {
  if (last === undefined) return [];
  const { gate, person, time_zone, made_at } = last;
  const text = phrases.say("gate.onward", { gate, person, time: phrases.clockShort(made_at, time_zone) });
  return [h("p", { class: "onward" }, text), h("button", { class: "wide", id: "go-alone", onclick: () => acts.goAlone(true) }, phrases.say("gate.alone_go"))];
}

function heading(text: string): HTMLElement {
  return h("h1", { tabindex: -1 }, text);
}

function alarm(trouble: Trouble | undefined, phrases: Phrases): readonly Node[] {
  return trouble === undefined ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.trouble(trouble))];
}

function pairing(state: Of<"pairing">, phrases: Phrases, acts: Acts): readonly Node[] {
  const name = h("input", { id: "name", name: "device-name", value: state.name, maxlength: 80, autocomplete: "off", disabled: state.busy });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    acts.pair(name.value.trim());
  };
  return [
    heading(phrases.say("gate.pair_title")),
    h("p", {}, phrases.say("gate.pair_text")),
    ...(state.paired === undefined ? [] : [h("p", { class: "soft" }, phrases.say("gate.pair_again", { name: state.paired }))]),
    ...alarm(state.trouble, phrases),
    h(
      "form",
      { onsubmit: submit },
      h("label", { for: "name" }, phrases.say("gate.pair_name")),
      name,
      h("button", { class: "main wide", id: "pair", disabled: state.busy }, phrases.say(state.busy ? "common.loading" : "gate.pair_button")),
    ),
    ...(state.paired === undefined ? [] : [h("button", { class: "wide", id: "keep", onclick: () => acts.keepPairing() }, phrases.say("gate.pair_keep"))]),
  ];
}

function signOn(state: Of<"sign_on">, phrases: Phrases, acts: Acts): readonly Node[] {
  const { step, device, trouble } = state;
  const place = h("p", { class: "soft" }, `${device.venue.name} · ${device.name}`);
  switch (step.kind) {
    case "names":
      return [place, heading(phrases.say("gate.who")), ...alarm(trouble, phrases), ...names(state, phrases, acts)];
    case "pin":
      return [place, heading(step.person.name), ...pinPad(state, step.digits, phrases, acts)];
    case "password":
      return [place, heading(step.person?.name ?? phrases.say("gate.sign_on_title")), ...alarm(trouble, phrases), ...password(state, step.person !== undefined, phrases, acts)];
  }
}

function names({ device }: Of<"sign_on">, phrases: Phrases, acts: Acts): readonly Node[] {
  const list = device.people.map((person) => h("li", {}, h("button", { class: "wide", id: `person-${person.person}`, onclick: () => acts.choosePerson(person) }, person.name)));
  return [
    list.length > 0 ? h("ul", { class: "choices" }, ...list) : h("p", {}, phrases.say("gate.nobody")),
    h("button", { class: "wide quiet", id: "password", onclick: () => acts.usePassword() }, phrases.say("gate.use_address")),
  ];
}

function pinPad({ busy, trouble }: Of<"sign_on">, digits: number, phrases: Phrases, acts: Acts): readonly Node[] {
  const dots = Array.from({ length: 6 }, (_, i) => h("span", { class: i < digits ? "dot full" : "dot" }));
  const key = (digit: string) => h("button", { id: `pin-${digit}`, disabled: busy, onclick: () => acts.digit(digit) }, digit);
  const erase = h("button", { id: "pin-erase", class: "quiet", disabled: busy, "aria-label": phrases.say("gate.pin_erase"), onclick: () => acts.erase() }, "⌫");
  const back = h("button", { id: "pin-back", class: "quiet", "aria-label": phrases.say("gate.back"), onclick: () => acts.backToNames() }, "←");
  return [
    h("p", { id: "pin-label" }, phrases.say("gate.pin")),
    h("p", { class: "dots", role: "status", "aria-label": phrases.say("gate.pin_digits", { count: digits }) }, ...dots),
    ...alarm(trouble, phrases),
    h("div", { class: "pad", role: "group", "aria-labelledby": "pin-label" }, ...[..."123456789"].map(key), back, key("0"), erase),
    h("button", { class: "wide quiet", id: "password", onclick: () => acts.usePassword() }, phrases.say("gate.use_password")),
  ];
}

function password({ busy }: Of<"sign_on">, named: boolean, phrases: Phrases, acts: Acts): readonly Node[] {
  const email = h("input", { id: "email", type: "email", autocomplete: "off", autocapitalize: "none", required: !named });
  const secret = h("input", { id: "secret", type: "password", autocomplete: "off", required: true });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    acts.password(email.value.trim(), secret.value);
  };
  return [
    h(
      "form",
      { onsubmit: submit },
      ...(named ? [] : [h("label", { for: "email" }, phrases.say("gate.email")), email]),
      h("label", { for: "secret" }, phrases.say("gate.password")),
      secret,
      h("button", { class: "main wide", id: "sign-on", disabled: busy }, phrases.say(busy ? "common.loading" : "gate.sign_on")),
    ),
    h("button", { class: "wide quiet", id: "back", onclick: () => acts.backToNames() }, phrases.say("gate.back")),
  ];
}

function chooseGate({ device, trouble }: Of<"choose_gate">, phrases: Phrases, acts: Acts): readonly Node[] {
  const list = device.gates.map((gate) => h("li", {}, h("button", { class: "wide", id: `gate-${gate.gate}`, onclick: () => acts.chooseGate(gate.gate) }, gate.name)));
  return [
    h("p", { class: "soft" }, `${device.venue.name} · ${device.person?.name ?? ""}`),
    heading(phrases.say("gate.which_gate")),
    ...alarm(trouble, phrases),
    list.length > 0 ? h("ul", { class: "choices" }, ...list) : h("p", {}, phrases.say("gate.no_gates")),
    ...(list.length > 0 ? [] : [h("button", { class: "wide", id: "retry", onclick: () => acts.retry() }, phrases.say("gate.try_now"))]),
    h("button", { class: "wide quiet", id: "sign-off", onclick: () => acts.signOff() }, phrases.say("gate.sign_off")),
  ];
}

const classes: readonly Class[] = ["admit", "ask", "refuse", "again"];

function ready(state: Of<"ready">, phrases: Phrases, acts: Acts): readonly Node[] {
  const { device, gate, unsent } = state;
  const name = device.gates.find((one) => one.gate === gate)?.name ?? "";
  const legend = classes.map((cls) => h("li", { "data-class": cls }, shape(cls), h("span", {}, phrases.say(`gate.class_${cls}`))));
  return [
    h("p", { class: "soft" }, `${device.venue.name} · ${device.person?.name ?? ""}`),
    heading(name),
    h("p", {}, phrases.say("gate.start_text")),
    ...(state.alone ? [h("p", { class: "onward", role: "status" }, phrases.say("gate.alone"))] : []),
    ...(unsent > 0 ? [h("p", { role: "status" }, phrases.say("gate.unsent_before", { count: unsent }))] : []),
    h("button", { class: "main wide tall", id: "start", onclick: () => acts.start() }, phrases.say("gate.start")),
    h("ul", { class: "legend" }, ...legend),
    h(
      "div",
      { class: "row" },
      h("button", { class: "quiet", id: "other-gate", onclick: () => acts.otherGate() }, phrases.say("gate.other_gate")),
      h("button", { class: "quiet", id: "sign-off", onclick: () => acts.signOff() }, phrases.say("gate.sign_off")),
    ),
  ];
}
