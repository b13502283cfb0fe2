// Shows the sample states without a server, for tests and for looking at.
// Bundled for tests only.

import "../shared/base.css";
import "./wallet.css";
import "./ticket.css";
import { byId } from "../shared/dom.js";
import { decodeQR } from "qr/decode.js";
import { loadMessages } from "../shared/messages.js";
import { Drawing } from "./drawing.js";
import { samples, withCode } from "./samples.js";
import type { Acts } from "./state.js";
import { Words } from "./words.js";

declare global {
  interface Window {
    portillonGallery?: { readonly names: readonly string[]; show(name: string): void };
    portillonCodes?: { draw(text: string): void; read(picture: string): Promise<string> };
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
    /** Reads the code of a picture in base64; "" if none can be read. */
    async read(picture) {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(picture), (char) => char.charCodeAt(0))]));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const context = canvas.getContext("2d");
      context?.drawImage(bitmap, 0, 0);
      const image = context?.getImageData(0, 0, bitmap.width, bitmap.height);
      try {
        return image === undefined ? "" : decodeQR(image);
      } catch {
        return "";
      }
    },
  };
}

void open();
