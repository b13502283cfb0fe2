// What is said of working without network: that it is offered and why, that it is
// on, how old its data is, and how much the server has not heard of yet.

import { h } from "../shared/dom.js";
import type { Cause } from "../shared/api.js";
import type { Key } from "../shared/messages.js";
import type { AloneView } from "./offline.js";
import type { Phrases } from "./phrases.js";
import type { Acts, Work } from "./state.js";

const causes: Readonly<Record<Cause, Key>> = {
  network: "gate.cause_network",
  timeout: "gate.cause_timeout",
  not_ours: "gate.cause_not_ours",
  unavailable: "gate.cause_unavailable",
  aborted: "gate.cause_network",
};

/** The band under the gate's name, a region of its own so that a press is not lost to what changes above it; nothing when all is well and sent. */
export function band({ alone, time_zone }: Work, phrases: Phrases, acts: Acts): readonly Node[] {
  const { mode, unsent } = alone;
  const count = phrases.say("gate.alone_unsent", { count: unsent });
  switch (mode) {
    case "off":
      return unsent > 0 || told(alone) !== undefined ? [strip("sending", [h("p", { role: "status" }, [unsent > 0 ? count : "", told(alone, phrases)].filter(Boolean).join(" · "))])] : [];
    case "offered":
      return [strip("offered", [h("p", { role: "status" }, phrases.say(causes[alone.cause ?? "network"]), " ", reserve(alone, time_zone, phrases)), ...(unsent > 0 ? [h("p", {}, count)] : []), ...(mayGoAlone(alone) ? [goAlone("go-alone", phrases, acts)] : [])])];
    case "on":
    case "back": {
      const line = [phrases.say("gate.alone"), age(alone, time_zone, phrases), count].join(" · ");
      const back = mode === "back";
      return [
        strip(mode, [
          h("p", { role: "status" }, h("strong", {}, line), ...(back ? [" ", phrases.say("gate.alone_back")] : [])),
          h("button", { id: "end-alone", class: back ? "main" : "", onclick: () => acts.goAlone(false) }, phrases.say(back ? "gate.alone_end" : "gate.alone_try")),
        ]),
      ];
    }
  }
}

function strip(mode: string, nodes: readonly Node[]): Node {
  return h("div", { class: "alone-band", "data-alone": mode }, ...nodes);
}

/** Whether the controller may go on without network now. */
export function mayGoAlone({ mode, data }: AloneView): boolean {
  return mode === "offered" && data.kind === "ready";
}

/** The button that goes on without network. */
export function goAlone(id: string, phrases: Phrases, acts: Acts): Node {
  return h("button", { id, class: "wide", onclick: () => acts.goAlone(true) }, phrases.say("gate.alone_go"));
}

/** What there is to go on with. */
function reserve({ data }: AloneView, zone: string, phrases: Phrases): string {
  switch (data.kind) {
    case "ready":
      return phrases.say("gate.alone_offer", { time: phrases.clockShort(data.made_at, zone) });
    case "stale":
      return phrases.say("gate.alone_stale", { time: phrases.clockShort(data.made_at, zone) });
    default:
      return phrases.say(`gate.alone_${data.kind}`);
  }
}

/** How old the data is that a gate could decide by. */
export function age({ data }: AloneView, zone: string, phrases: Phrases): string {
  if (!("made_at" in data)) return phrases.say(`gate.alone_${data.kind}`);
  return phrases.say("gate.alone_data", { time: phrases.clockShort(data.made_at, zone) });
}

/** What the server said of the scans that were decided here; undefined when it said nothing yet. */
function told({ tally }: AloneView, phrases?: Phrases): string | undefined {
  const { recorded, double_admission, quarantined, refused } = tally;
  if (recorded + double_admission + quarantined + refused === 0) return undefined;
  if (phrases === undefined) return "";
  const kept = quarantined + refused;
  return [
    phrases.say("gate.alone_sent", { count: recorded + double_admission + kept }),
    ...(double_admission > 0 ? [phrases.say("gate.alone_doubles", { count: double_admission })] : []),
    ...(kept > 0 ? [phrases.say("gate.alone_kept", { count: kept })] : []),
  ].join(" · ");
}
