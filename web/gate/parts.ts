// Pieces that several of the gate's views are made of.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import type { Phrases } from "./phrases.js";

/** Why a guest is let in by judgement, ready to be pressed. */
export const judgements: readonly Key[] = ["gate.override_identity", "gate.override_known", "gate.override_device", "gate.override_supervisor"];

/** Leaves a panel, or a part of it. */
export function back(onclick: () => void, phrases: Phrases): HTMLElement {
  return h("button", { type: "button", id: "close-panel", class: "quiet", onclick }, phrases.say("gate.back"));
}
