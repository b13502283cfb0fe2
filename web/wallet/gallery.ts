// Shows the sample states without a server, for tests and for looking at.
// Bundled for tests only.

import "../shared/base.css";
import "./wallet.css";
import "./ticket.css";
import { byId } from "../shared/dom.js";
import { loadMessages } from "../shared/messages.js";
import { Drawing } from "./drawing.js";
import { samples, withCode } from "./samples.js";
import type { Acts } from "./state.js";
import { Words } from "./words.js";

declare global {
  interface Window {
    portillonGallery?: { readonly names: readonly string[]; show(name: string): void };
    portillonCodes?: { draw(text: string): void };
  }
}

// Buttons do nothing here.
const acts = new Proxy({} as Acts, { get: () => () => undefined });

async function open(): Promise<void> {
  const drawing = new Drawing(byId("wallet"), new Words(await loadMessages()), acts);
  window.portillonGallery = {
    names: Object.keys(samples),
    show(name) {
      const state = samples[name];
      if (state === undefined) throw new Error(`there is no sample ${name}`);
      drawing.draw({ kind: "loading" });
      drawing.draw(state);
    },
  };
  window.portillonCodes = {
    /** Draws a ticket with this code in the place of the one before, as a new nonce does. */
    draw: (text) => drawing.draw(withCode(text)),
  };
}

void open();
