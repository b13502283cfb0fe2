// Decodes QR codes off the page's thread, for browsers whose own
// BarcodeDetector does not read them. Glue and wasm come from one package at
// one version and are addressed by content, so they can never be mixed.

import { prepareZXingModule } from "zxing-wasm/reader";
import wasm from "zxing-wasm/reader/zxing_reader.wasm";
import { readPicture } from "./chain.js";
import type { Found, Frame } from "./frames.js";

declare const self: DedicatedWorkerGlobalScope;

prepareZXingModule({ overrides: { locateFile: () => wasm } });

async function read(frame: Frame): Promise<Found> {
  try {
    return { id: frame.id, texts: await readPicture(frame.image) };
  } catch (error) {
    return { id: frame.id, texts: [], failed: String(error) };
  }
}

self.addEventListener("message", (event: MessageEvent<Frame>) => {
  void read(event.data).then((found) => self.postMessage(found));
});
