// Reading codes from the camera's picture, by the best means that this browser
// allows: its own detector, zxing in a worker, or a decoder in plain script
// where WebAssembly is refused.

import type { Found, Frame } from "./frames.js";
import { startDecoder } from "./trusted.js";

/** Reads the texts of all codes in the present picture. */
export interface Reader {
  readonly name: "native" | "zxing" | "plain";
  read(video: HTMLVideoElement): Promise<readonly string[]>;
}

interface Detector {
  detect(source: CanvasImageSource): Promise<readonly { readonly rawValue: string }[]>;
}

interface DetectorClass {
  new (options: { formats: string[] }): Detector;
  getSupportedFormats(): Promise<readonly string[]>;
}

/** Chooses the reader once. */
export async function chooseReader(): Promise<Reader> {
  const native = (globalThis as { BarcodeDetector?: DetectorClass }).BarcodeDetector;
  const formats = (await native?.getSupportedFormats().catch(() => [])) ?? [];
  if (native !== undefined && formats.includes("qr_code")) return nativeReader(new native({ formats: ["qr_code"] }));
  return workerReader();
}

function nativeReader(detector: Detector): Reader {
  return {
    name: "native",
    read: async (video) => (await detector.detect(video)).map((code) => code.rawValue),
  };
}

/** Copies pictures out of the video, always through the same canvas. */
function grabber(): (video: HTMLVideoElement) => ImageData {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true, alpha: false });
  if (context === null) throw new Error("this browser gives no canvas");
  return (video) => {
    if (canvas.width !== video.videoWidth) canvas.width = video.videoWidth;
    if (canvas.height !== video.videoHeight) canvas.height = video.videoHeight;
    context.drawImage(video, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height);
  };
}

function workerReader(): Reader {
  const grab = grabber();
  let plain: Reader | undefined;
  let worker: Worker | undefined;
  const waiting = new Map<number, (found: Found) => void>();
  const fail = (failed: string) => {
    for (const [id, give] of waiting) give({ id, texts: [], failed });
    waiting.clear();
  };
  try {
    worker = startDecoder();
    worker.addEventListener("message", (event: MessageEvent<Found>) => {
      waiting.get(event.data.id)?.(event.data);
      waiting.delete(event.data.id);
    });
    worker.addEventListener("error", () => fail("the decoder did not start"));
  } catch {
    worker = undefined;
  }
  let last = 0;
  return {
    name: "zxing",
    async read(video) {
      if (worker === undefined) return (plain ??= await plainReader(grab)).read(video);
      const frame: Frame = { id: ++last, image: grab(video) };
      const found = await new Promise<Found>((give) => {
        waiting.set(frame.id, give);
        worker?.postMessage(frame, [frame.image.data.buffer]);
      });
      if (found.failed !== undefined) {
        worker?.terminate();
        worker = undefined;
      }
      return found.texts;
    },
  };
}

async function plainReader(grab: (video: HTMLVideoElement) => ImageData): Promise<Reader> {
  const { decodeQR } = await import("qr/decode.js");
  return {
    name: "plain",
    async read(video) {
      try {
        return [decodeQR(grab(video))];
      } catch {
        return []; // it throws where there is no code
      }
    },
  };
}
