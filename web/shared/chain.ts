// Reading the codes of one picture, within what a cheap phone can do fifteen
// times a second. A first pass reads what a camera usually sees. Where it finds
// nothing, a second one looks at the picture at half its size, sharpened: it
// costs half as much and reads codes that were out of focus, or under the
// stripes that a screen makes in a camera.

import { readBarcodes, type ReaderOptions } from "zxing-wasm/reader";

const options: ReaderOptions = { formats: ["QRCode"], tryHarder: false, maxNumberOfSymbols: 2 };

/** The texts of the codes in a picture (RGBA), in no particular order. */
export async function readPicture(image: ImageData): Promise<readonly string[]> {
  const texts = await pass(image, options);
  // What is this small is not made smaller.
  if (texts.length > 0 || Math.min(image.width, image.height) < 300) return texts;
  return pass(sharpened(halved(image)), { ...options, tryDownscale: false });
}

async function pass(image: ImageData, how: ReaderOptions): Promise<readonly string[]> {
  const results = await readBarcodes(image, how);
  return results.filter((result) => result.isValid).map((result) => result.text);
}

/** Grey values, row by row. */
interface Grey {
  readonly values: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Half the width and height: each value is the mean of four, in green, which most of a sensor's pixels see. */
function halved(image: ImageData): Grey {
  const { data } = image;
  const width = image.width >> 1;
  const height = image.height >> 1;
  const values = new Uint8Array(width * height);
  const row = image.width * 4;
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0, from = 2 * y * row + 1; x < width; x++, from += 8) {
      values[to++] = ((data[from] ?? 0) + (data[from + 4] ?? 0) + (data[from + row] ?? 0) + (data[from + row + 4] ?? 0)) >> 2;
    }
  }
  return { values, width, height };
}

/** Pixels on each side whose mean is taken off, and how many times the difference is added. */
const reach = 2;
const strength = 2;

/** An unsharp mask: what differs from its neighbours differs more. The frame around the picture stays as it was. */
function sharpened({ values, width, height }: Grey): ImageData {
  const side = 2 * reach + 1;
  const pixels = new Uint32Array(width * height);
  const columns = new Int32Array(width); // sums over the rows around the present one
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const gone = y < side ? 0 : (values[(y - side) * width + x] ?? 0);
      columns[x] = (columns[x] ?? 0) + (values[y * width + x] ?? 0) - gone;
    }
    if (y >= side - 1) sharpenRow(values, pixels, columns, (y - reach) * width, width);
  }
  for (let y = 0; y < reach; y++) {
    copyRow(values, pixels, y * width, width);
    copyRow(values, pixels, (height - 1 - y) * width, width);
  }
  return { data: new Uint8ClampedArray(pixels.buffer), width, height, colorSpace: "srgb" };
}

function sharpenRow(values: Uint8Array, pixels: Uint32Array, columns: Int32Array, start: number, width: number): void {
  const count = (2 * reach + 1) ** 2;
  copyRow(values, pixels, start, width);
  let sum = 0;
  for (let x = 0; x < 2 * reach; x++) sum += columns[x] ?? 0;
  for (let x = reach; x < width - reach; x++) {
    sum += columns[x + reach] ?? 0;
    const value = values[start + x] ?? 0;
    pixels[start + x] = grey(value + strength * (value - sum / count));
    sum -= columns[x - reach] ?? 0;
  }
}

function copyRow(values: Uint8Array, pixels: Uint32Array, start: number, width: number): void {
  for (let i = start; i < start + width; i++) pixels[i] = grey(values[i] ?? 0);
}

/** One opaque grey pixel. Machines that run browsers keep the lowest byte first, so that alpha is the highest. */
function grey(value: number): number {
  const level = value < 0 ? 0 : value > 255 ? 255 : value | 0;
  return 0xff000000 | (level << 16) | (level << 8) | level;
}
