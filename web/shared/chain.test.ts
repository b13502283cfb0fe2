import assert from "node:assert/strict";
import test from "node:test";
import { encodeQR } from "qr";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";
import wasm from "zxing-wasm/reader/zxing_reader.wasm";
import { generator, pictures, type Picture } from "../bench/frames.js";
import { alphabet } from "../proof/base45.js";
import { readPicture } from "./chain.js";

// Bundled for node, the import is the bytes themselves and not their address.
prepareZXingModule({ overrides: { wasmBinary: (wasm as unknown as Uint8Array<ArrayBuffer>).slice().buffer } });

/** A code as wide as that share of an upright picture, in grey surroundings. */
function upright(text: string, share: number): ImageData {
  const [width, height] = [720, 1280];
  const modules = encodeQR(text, "raw", { ecc: "low", border: 4 });
  const side = share * width;
  const data = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 4) {
      let sum = 0;
      for (const [right, down] of [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]] as const) {
        const column = Math.floor(((x + right - (width - side) / 2) / side) * modules.length);
        const row = Math.floor(((y + down - (height - side) / 2) / side) * modules.length);
        const dark = modules[row]?.[column];
        sum += dark === undefined ? 110 : dark ? 12 : 235;
      }
      data[to] = data[to + 1] = data[to + 2] = sum / 4;
    }
  }
  return { data, width, height, colorSpace: "srgb" };
}

// T67
test("a code is read from a fifth to nine tenths of the picture's width", async () => {
  const random = generator(67);
  const text = `PS1:${Array.from({ length: 124 }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join("")}`;
  for (let share = 20; share <= 90; share += 10) {
    assert.deepEqual(await readPicture(upright(text, share / 100)), [text], `${share} % of the width`);
  }
});

test("a picture without a code has none, whatever its size", async () => {
  for (const [width, height] of [[1280, 720], [640, 361], [3, 1], [1, 1]] as const) {
    const random = generator(width);
    const data = Uint8ClampedArray.from({ length: width * height * 4 }, (_, i) => (i % 4 === 3 ? 255 : random() * 256));
    assert.deepEqual(await readPicture({ data, width, height, colorSpace: "srgb" }), []);
  }
});

test("a code out of focus is read by the second look, where the first one finds nothing", async () => {
  const { text, image } = firstOf(10);
  assert.deepEqual(firstOf(10).image.data.subarray(0, 1 << 16), image.data.subarray(0, 1 << 16), "a seed gives the same picture");
  const once = await readBarcodes(image as ImageData, { formats: ["QRCode"], tryHarder: true });
  assert.deepEqual(once.filter((result) => result.isValid), []);
  assert.deepEqual(await readPicture(image as ImageData), [text]);
});

/** The first picture of a seed, which is out of focus. */
function firstOf(seed: number): Picture {
  const first = pictures(seed, 1).next().value;
  assert.ok(first?.kind === "blur");
  return first;
}
