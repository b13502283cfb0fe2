// How much of what a bad camera sees is read, and at what cost: the chain of our
// decoder beside zxing, `qr` and jsQR alone, on the same pictures. Prints a table
// and, as its last line, one JSON object. It fails where the chain is not the
// best of them, takes more than its share of time, or where the pictures tell
// nothing because a decoder reads nearly all or nearly none of them.
//
// Times are of the processor and not of the clock: the machine may be shared.
// Run by `make bench-decode`; a number after it is another seed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import jsQR from "jsqr";
import { decodeQR } from "qr/decode.js";
import { prepareZXingModule, readBarcodes } from "zxing-wasm/reader";
import wasm from "zxing-wasm/reader/zxing_reader.wasm";
import { readPicture } from "../shared/chain.js";
import { height, kinds, pictures, width, type Picture } from "./frames.js";

const usualSeed = 20;
const each = 8;
const eachWhenLimited = 4;

/** What the chain may take for a picture in milliseconds, and how many it must read in a second of a quarter of a core. */
const longest = 15;
const slowest = 4;

/** Each decoder alone must fail on at least and at most this share of the pictures. */
const [fewest, most] = [0.1, 0.4];

/** A quarter of a core: so many milliseconds the process runs, and so many it is stopped. */
const [running, stopped] = [10, 30];

type Decode = (image: ImageData) => Promise<readonly string[]>;

const decoders: Readonly<Record<string, Decode>> = {
  ours: readPicture,
  zxing: async (image) => {
    const results = await readBarcodes(image, { formats: ["QRCode"], tryHarder: true, maxNumberOfSymbols: 2 });
    return results.filter((result) => result.isValid).map((result) => result.text);
  },
  qr: async (image) => {
    try {
      return [decodeQR(image)];
    } catch {
      return []; // it throws where there is no code
    }
  },
  jsqr: async ({ data, width, height }) => {
    const found = jsQR(data, width, height);
    return found === null ? [] : [found.data];
  },
};

interface Measured {
  readonly reader: string;
  readonly read: number;
  readonly share: number;
  /** Milliseconds of the processor for a picture: the mean, and what 19 of 20 stay below. */
  readonly ms: number;
  readonly ms_p95: number;
  readonly by_kind: Readonly<Record<string, number>>;
}

async function measure(reader: string, decode: Decode, all: readonly Picture[]): Promise<Measured> {
  for (const { image } of all.slice(0, each)) await decode(image as ImageData); // compiled and warm
  const times: number[] = [];
  const byKind = Object.fromEntries(kinds.map((kind) => [kind, 0]));
  let read = 0;
  for (const { kind, text, image } of all) {
    const before = process.cpuUsage();
    const texts = await decode(image as ImageData);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
    if (!texts.includes(text)) continue;
    read++;
    byKind[kind] = (byKind[kind] ?? 0) + 1;
  }
  const ms = times.reduce((sum, time) => sum + time, 0) / times.length;
  const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0;
  return { reader, read, share: round(read / all.length), ms: round(ms), ms_p95: round(p95), by_kind: byKind };
}

/** Pictures read in a second by this program in a process that is stopped for three quarters of the time, and the share of a core that it had. */
async function limited(seed: number): Promise<{ frames_per_second: number; core: number }> {
  const child = spawn(process.execPath, [process.argv[1] ?? "", String(seed), "limited"], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const over = once(child, "exit");
  await once(child.stdout, "data"); // its pictures are made
  let ended = false;
  void over.then(() => (ended = true));
  while (!ended) {
    await pause(running);
    child.kill("SIGSTOP");
    await pause(stopped);
    child.kill("SIGCONT");
  }
  await over;
  return JSON.parse(said.trim().split("\n").at(-1) ?? "") as { frames_per_second: number; core: number };
}

/** What the limited process does. */
async function read(all: readonly Picture[]): Promise<void> {
  for (const { image } of all.slice(0, each)) await readPicture(image as ImageData);
  console.log("ready");
  await pause(300);
  const [began, before] = [performance.now(), process.cpuUsage()];
  for (const { image } of all) await readPicture(image as ImageData);
  const [took, { user, system }] = [(performance.now() - began) / 1000, process.cpuUsage(before)];
  console.log(JSON.stringify({ frames_per_second: round(all.length / took), core: round((user + system) / 1e6 / took) }));
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

async function main(): Promise<void> {
  const seed = Number(process.argv[2] ?? usualSeed);
  const binary = (wasm as unknown as Uint8Array<ArrayBuffer>).slice().buffer;
  prepareZXingModule({ overrides: { wasmBinary: binary } });
  if (process.argv[3] === "limited") return read([...pictures(seed, eachWhenLimited)]);

  const all = [...pictures(seed, each)];
  const results: Measured[] = [];
  for (const [name, decode] of Object.entries(decoders)) {
    const result = await measure(name, decode, all);
    const kindly = kinds.map((kind) => `${kind} ${result.by_kind[kind]}`).join(", ");
    console.log(`${name.padEnd(6)} reads ${result.read} of ${all.length}, ${result.ms} ms each, 19 of 20 within ${result.ms_p95} ms: ${kindly}`);
    results.push(result);
  }
  const quarter = await limited(seed);
  const [ours, ...others] = results;
  const complaints: string[] = [];
  for (const { reader, read, share } of others) {
    if (1 - share < fewest || 1 - share > most) complaints.push(`${reader} reads ${read} of ${all.length}: these pictures tell nothing`);
    if (ours !== undefined && ours.read < read) complaints.push(`${reader} reads more than the chain`);
  }
  if (ours !== undefined && ours.ms > longest) complaints.push(`the chain takes ${ours.ms} ms for a picture`);
  if (quarter.core > 0.3) complaints.push(`the limited process had ${quarter.core} of a core`);
  if (quarter.frames_per_second < slowest) complaints.push(`a quarter of a core reads ${quarter.frames_per_second} pictures in a second`);
  for (const complaint of complaints) console.log(complaint);
  const limit = `stopped for ${stopped} of ${running + stopped} ms`;
  console.log(JSON.stringify({ seed, frames: all.length, width, height, readers: results, quarter_of_a_core: { limit, ...quarter }, complaints }));
  if (complaints.length > 0) process.exitCode = 1;
}

await main();
