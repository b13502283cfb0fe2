// The screen of a gate at work, part by part: who and where and whether all is
// well, the picture, what was set aside, the last answer, the tools.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import { age } from "./aloneview.js";
import { back } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { classOf } from "./screen.js";
import { lastScans } from "./recentview.js";
import { searching } from "./searchview.js";
import { qrPicture, shape } from "./shapes.js";
import type { Modules } from "./shown.js";
import type { Acts, Work } from "./state.js";

/** Gate, person, network, lease, and how much is under way: always in view. */
export function top(state: Work, phrases: Phrases): readonly Node[] {
  const { gate, person, online, lease, unsent, aside, overrides, direction, perhapsExits, trouble, alone, time_zone } = state;
  const light = (good: boolean | undefined, text: string, name: string) =>
    h("span", { class: good === undefined ? "light" : good ? "light good" : "light bad", "data-light": name, "data-good": String(good ?? "") }, text);
  const held = lease === "held" ? true : lease === "taking" || lease === "none" ? undefined : false;
  return [
    h("h1", {}, gate),
    h("p", { class: "soft" }, person),
    h(
      "div",
      { class: "lights", role: "status", "aria-label": phrases.say("gate.state") },
      light(online, phrases.say(online ? "gate.online" : "gate.offline"), "network"),
      light(held, phrases.say(`gate.lease_${lease}`), "lease"),
      light(unsent === 0 ? undefined : false, phrases.say("gate.unsent", { count: unsent }), "unsent"),
      ...("made_at" in alone.data ? [light(alone.data.kind === "ready" ? undefined : false, age(alone, time_zone, phrases), "data")] : []),
      ...(aside.length > 0 ? [light(undefined, phrases.say("gate.aside", { count: aside.length }), "aside")] : []),
      ...(overrides > 0 ? [light(undefined, phrases.say("gate.overrides", { count: overrides }), "overrides")] : []),
    ),
    // Said all the time: a guest who is counted the wrong way round stands outside tomorrow.
    ...(direction === "out" ? [h("p", { class: "direction", role: "status" }, phrases.say("gate.counting_exits"))] : []),
    ...(perhapsExits ? [h("p", { class: "alarm", role: "alert" }, phrases.say("gate.perhaps_exits"))] : []),
    ...(trouble === undefined ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.trouble(trouble))]),
  ];
}

/** What stands in the picture's place when there is none. */
export function notice({ camera, lease }: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  if (lease === "closed") {
    return [
      h("h2", { tabindex: -1, "data-focus": true }, phrases.say("gate.closed_title")),
      h("p", {}, phrases.say("gate.closed_text")),
      h("button", { class: "main", id: "open-gate", onclick: () => acts.openGate() }, phrases.say("gate.open_gate")),
    ];
  }
  const wake = (key: Key) => h("button", { class: "main", id: "wake", onclick: () => acts.wake() }, phrases.say(key));
  switch (camera) {
    case "live":
    case "off":
      return [];
    case "starting":
      return [h("p", { role: "status" }, phrases.say("gate.camera_starting"))];
    case "resting":
      return [h("p", { role: "status" }, phrases.say("gate.camera_resting")), wake("gate.camera_wake")];
    default:
      return [
        h("p", { role: "status" }, phrases.say(`gate.camera_${camera}`)),
        h("button", { class: "main", id: "type-instead", onclick: () => acts.open("typing") }, phrases.say("gate.type")),
        wake("gate.camera_retry"),
      ];
  }
}

/** Scans that were set aside; an answered one raises its hand. */
export function aside({ aside: list, time_zone }: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  if (list.length === 0) return [];
  const items = list.map(({ key, at, shown }) => {
    const time = phrases.clock(at, time_zone);
    if (shown === undefined) return h("li", { class: "waiting" }, phrases.say("gate.aside_waiting", { time }));
    const button = h("button", { "data-class": classOf(shown), id: `aside-${key}`, onclick: () => acts.openAside(key) }, shape(classOf(shown)), phrases.say("gate.aside_answered", { time }));
    return h("li", {}, button);
  });
  return [h("ul", { class: "asides" }, ...items)];
}

/** The last answer, until the next scan. */
export function strip({ screen }: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  const { last } = screen;
  if (last === undefined) return [];
  const cls = classOf(last.shown);
  const again = last.old && last.shown.kind === "answer";
  return [
    h(
      "div",
      { class: "last", "data-class": cls },
      shape(cls),
      h("p", {}, ...(last.old ? [h("small", {}, phrases.say("gate.answered_before")), " "] : []), phrases.line(last.shown)),
      again && h("button", { id: "judge-again", onclick: () => acts.judgeAgain() }, phrases.say("gate.judge_again")),
    ),
  ];
}

/** The tools. */
export function bar({ panel: { kind }, lease }: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  const tool = (name: "typing" | "search" | "gate_code" | "recent" | "more", key: Key) =>
    h("button", { id: `tool-${name}`, "aria-expanded": String(kind === name), onclick: () => acts.open(kind === name ? "none" : name) }, phrases.say(key));
  const scanning = lease === "closed" ? [] : [tool("typing", "gate.type"), tool("gate_code", "gate.gate_code"), tool("search", "gate.search")];
  return [...scanning, tool("recent", "gate.recent"), tool("more", "gate.more")];
}

/** The tool that is open. */
export function panel(state: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  switch (state.panel.kind) {
    case "none":
    case "override": // which is drawn over the answer
      return [];
    case "typing":
      return typing(phrases, acts);
    case "gate_code":
      return gateCode(state.panel, phrases, acts);
    case "search":
      return searching(state, state.panel, phrases, acts);
    case "recent":
      return lastScans(state, state.panel, phrases, acts);
    case "more":
      return more(state, state.panel, phrases, acts);
  }
}

function typing(phrases: Phrases, acts: Acts): readonly Node[] {
  const field = h("input", { id: "code", "data-focus": true, autocomplete: "off", autocapitalize: "characters", spellcheck: "false", maxlength: 4096, required: true });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (field.value.trim() !== "") acts.typed(field.value);
  };
  return [
    h(
      "form",
      { class: "typing", onsubmit: submit },
      h("label", { for: "code" }, phrases.say("gate.type_label")),
      field,
      h("div", { class: "row" }, h("button", { class: "main", id: "check" }, phrases.say("gate.check")), back(() => acts.open("none"), phrases)),
    ),
  ];
}

function gateCode({ code, failed }: { code?: Modules; failed: boolean }, phrases: Phrases, acts: Acts): readonly Node[] {
  const content =
    code === undefined
      ? h("p", { role: "status" }, phrases.say(failed ? "gate.no_network" : "common.loading"))
      : h("div", { class: "card" }, qrPicture(code, phrases.say("gate.gate_code")));
  return [h("div", { class: "gate-code" }, content, h("p", {}, phrases.say("gate.gate_code_text")), h("button", { type: "button", class: "main wide", id: "close-panel", "data-focus": true, onclick: () => acts.open("none") }, phrases.say("gate.done")))];
}

function more(state: Work, { closing, busy, trouble }: Extract<Work["panel"], { kind: "more" }>, phrases: Phrases, acts: Acts): readonly Node[] {
  const closable = state.lease === "held" || state.lease === "taking";
  const { others, light } = state.camera === "live" ? state.optics : { others: state.optics.others };
  const label: Key = closing ? "gate.close_really" : "gate.close_gate";
  return [
    h(
      "div",
      { class: "more" },
      ...(trouble === undefined ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.trouble(trouble))]),
      state.direction === "in"
        ? h("button", { class: "wide", id: "count-exits", onclick: () => acts.turn("out") }, phrases.say("gate.count_exits"))
        : h("button", { class: "wide", id: "count-entries", onclick: () => acts.turn("in") }, phrases.say("gate.count_entries")),
      ...(light === undefined ? [] : [h("button", { class: "wide", id: "light", onclick: () => acts.light(!light) }, phrases.say(light ? "gate.light_off" : "gate.light_on"))]),
      ...(others ? [h("button", { class: "wide", id: "another-camera", onclick: () => acts.anotherCamera() }, phrases.say("gate.another_camera"))] : []),
      ...(closing ? [h("p", { role: "status" }, phrases.say("gate.close_text"))] : []),
      ...(closable ? [h("button", { id: "close-gate", class: closing ? "wide danger" : "wide", disabled: busy, onclick: () => acts.closeGate() }, phrases.say(label))] : []),
      h("button", { class: "wide", id: "other-gate", onclick: () => acts.otherGate() }, phrases.say("gate.other_gate")),
      h("button", { class: "wide", id: "sign-off", onclick: () => acts.signOff() }, phrases.say("gate.sign_off")),
      back(() => acts.open("none"), phrases),
    ),
  ];
}

/** What a screen reader says at once: the answer, or that one is awaited. */
export function spoken({ screen: { over, last } }: Work, phrases: Phrases): string {
  if (over.kind === "asking") return over.slow ? phrases.say("gate.asking_slow") : "";
  const shown = over.kind === "answer" ? over.shown : last?.shown;
  if (shown === undefined) return "";
  const view = phrases.view(shown);
  return [phrases.line(shown), ...view.lines, view.class === "admit" ? "" : view.advice].filter((part) => part !== "").join(". ");
}
