// The camera's picture while a gate's code is looked for.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import { button } from "./plain.js";
import type { Acts, CameraState, State } from "./state.js";
import type { Words } from "./words.js";

const texts: Readonly<Record<CameraState, Key>> = {
  off: "wallet.camera_starting",
  starting: "wallet.camera_starting",
  live: "wallet.scan_how",
  resting: "wallet.camera_resting",
  denied: "wallet.camera_denied",
  none: "wallet.camera_none",
  failed: "wallet.camera_failed",
};

export function camera(state: Extract<State, { kind: "camera" }>, video: HTMLVideoElement, words: Words, acts: Acts): readonly Node[] {
  const text = state.camera === "live" && state.other ? "wallet.not_gate_code" : texts[state.camera];
  const again = state.camera === "resting" || state.camera === "failed" || state.camera === "denied";
  const looking = state.camera === "live" || state.camera === "starting";
  return [
    h(
      "div",
      { class: "lookout" },
      h("h1", { tabindex: -1 }, words.say("wallet.scan_gate")),
      h("div", { class: "finder", hidden: !looking }, video),
      h("p", { "data-say": true }, words.say(text)),
      again && button(words, "wallet.camera_again", acts.wakeCamera, "main"),
      button(words, "wallet.stop_scan", acts.stopScan),
    ),
  ];
}
