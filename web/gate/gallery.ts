// Shows the sample states without a server, for tests and for looking at.
// Bundled for tests only.

import "../shared/base.css";
import "./gate.css";
import "./verdict.css";
import "./alone.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { Drawing } from "./drawing.js";
import { Phrases } from "./phrases.js";
import { samples } from "./samples.js";
import type { Acts } from "./state.js";

declare global {
  interface Window {
    portillonGallery?: { readonly names: readonly string[]; show(name: string): void };
  }
}

// Buttons do nothing here.
const acts = new Proxy({} as Acts, { get: () => () => undefined });

async function open(): Promise<void> {
  const drawing = new Drawing(byId("gate"), new Phrases(await loadMessages()), acts);
  window.portillonGallery = {
    names: Object.keys(samples),
    show(name) {
      const page = samples[name];
      if (page === undefined) throw new Error(`there is no sample ${name}`);
      drawing.draw({ state: { kind: "loading" }, update: false });
      drawing.draw(page);
    },
  };
}

void open();
