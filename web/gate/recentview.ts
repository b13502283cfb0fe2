// The last scans as a list, and why one of them is taken back.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import { back } from "./parts.js";
import type { Phrases } from "./phrases.js";
import type { Recent } from "./recent.js";
import { shape } from "./shapes.js";
import type { Acts, Panel, Work } from "./state.js";

const reasons: readonly Key[] = ["gate.undo_turnstile", "gate.undo_person", "gate.undo_people", "gate.undo_mistake"];

/** The panel of the last scans. */
export function lastScans({ recent, time_zone }: Work, panel: Extract<Panel, { kind: "recent" }>, phrases: Phrases, acts: Acts): readonly Node[] {
  const title = h("h2", { tabindex: -1, "data-focus": panel.undoing === undefined }, phrases.say("gate.recent"));
  const away = back(() => acts.open("none"), phrases);
  if (recent.length === 0) return [h("div", { class: "recents" }, title, h("p", {}, phrases.say("gate.recent_none")), away)];
  const items = recent.map((one) => item(one, panel, time_zone, phrases, acts));
  return [h("div", { class: "recents" }, title, h("ul", {}, ...items), away)];
}

function item(one: Recent, panel: Extract<Panel, { kind: "recent" }>, zone: string, phrases: Phrases, acts: Acts): Node {
  const { key, at, ticket, people, undoable, undone } = one;
  const asking = panel.undoing === key;
  const where = ticket === undefined ? [] : [phrases.say("gate.number", { number: String(ticket.number) }), ticket.place].filter((word) => word !== "");
  const what = undone === true ? phrases.say("gate.undone") : people > 1 ? phrases.say("gate.admit_people", { count: people }) : phrases.reason(one.reason);
  return h(
    "li",
    { "data-class": one.class, "data-undone": String(undone === true) },
    shape(one.class),
    h("p", {}, h("strong", {}, what), h("small", {}, [phrases.clock(at, zone), ...where].join(" · "))),
    undoable && undone !== true && !asking && h("button", { id: `undo-${key}`, class: "quiet", onclick: () => acts.askUndo(key) }, phrases.say("gate.undo")),
    asking && why(key, panel, phrases, acts),
  );
}

function why(key: string, { busy, trouble }: Extract<Panel, { kind: "recent" }>, phrases: Phrases, acts: Acts): Node {
  return h(
    "div",
    { class: "why" },
    h("h3", { tabindex: -1, "data-focus": true }, phrases.say("gate.undo_why")),
    ...(trouble === undefined ? [] : [h("p", { class: "alarm", role: "alert" }, phrases.trouble(trouble))]),
    ...reasons.map((reason, n) => h("button", { id: `undo-why-${n}`, disabled: busy, onclick: () => acts.undo(key, phrases.say(reason)) }, phrases.say(reason))),
    h("button", { id: "undo-cancel", class: "quiet", disabled: busy, onclick: () => acts.askUndo() }, phrases.say("gate.cancel")),
  );
}
