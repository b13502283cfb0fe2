// Shows the sample states without a server, for tests and for looking at.
// Bundled for tests only.

import "../shared/base.css";
import "./desk.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { Drawing } from "./drawing.js";
import { Phrases } from "./phrases.js";
import { samples } from "./samples.js";

declare global {
  interface Window {
    portillonGallery?: { readonly names: readonly string[]; show(name: string): void };
  }
}

async function open(): Promise<void> {
  // Buttons do nothing here. The zone is the samples', wherever this runs.
  const acts = { press: () => undefined, type: () => undefined, submit: () => undefined };
  const drawing = new Drawing(byId("desk"), new Phrases(await loadMessages(), "Europe/Prague"), acts);
  window.portillonGallery = {
    names: Object.keys(samples),
    show(name) {
      const state = samples[name];
      if (state === undefined) throw new Error(`there is no sample ${name}`);
      drawing.draw({ kind: "loading", forms: {} });
      drawing.draw(state);
    },
  };
}

void open();
