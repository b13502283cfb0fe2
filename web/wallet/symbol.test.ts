import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { encodeQR } from "qr";
import { decodeQR } from "qr/decode.js";
import { alphabet } from "../proof/base45.js";
import { printPacked } from "../proof/code.js";
import { quiet, symbolOf } from "./symbol.js";

const id = { ticket: "01234567-89ab-4cde-8f01-23456789abcd", generation: 3 };

function randomly(length: number, seed: number): Uint8Array<ArrayBuffer> {
  let state = seed;
  return Uint8Array.from({ length }, () => (state = (state * 1103515245 + 12345) & 0x7fffffff) >> 16);
}

const pushed = (seed: number) => printPacked({ kind: "nonce", ...id, nonce: randomly(16, seed), signature: randomly(64, seed + 1) });
const timed = (seed: number) => printPacked({ kind: "time", ...id, issued_at: 1_780_000_000 + seed, signature: randomly(64, seed) });

test("a code over a nonce is a symbol of version 5: 37 modules and the quiet zone of four on each side", () => {
  for (let seed = 1; seed <= 50; seed++) {
    assert.equal(symbolOf(pushed(seed)).size, 37 + 2 * quiet);
  }
  assert.equal(quiet, 4);
});

test("a code by time fits into the same size", () => {
  assert.ok(symbolOf(timed(7)).size <= 37 + 2 * quiet);
});

test("the encoder takes its alphanumeric mode for every character of base45, the space too", () => {
  const text = alphabet.repeat(4).slice(0, 154);
  assert.equal(encodeQR(text, "raw", { ecc: "low", border: 1 }).length, 37 + 2, "154 characters are what version 5-L holds");
  assert.equal(encodeQR(`${text}A`, "raw", { ecc: "low", border: 1 }).length, 41 + 2, "and one more is too many");
});

test("what is drawn decodes to the same text, spaces included", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const text = pushed(seed);
    assert.equal(decodeQR(rendered(symbolOf(text))), text);
  }
});

test("drawing takes a fraction of the ten milliseconds that a redraw may take", () => {
  const texts = Array.from({ length: 200 }, (_, i) => pushed(i + 1));
  const times = texts.map((text) => {
    const began = performance.now();
    symbolOf(text);
    return performance.now() - began;
  });
  // The median: other tests share the processor.
  assert.ok((times.sort((a, b) => a - b)[times.length / 2] ?? Infinity) < 5);
});

test("the card keeps its colours where the browser forces others", () => {
  const css = readFileSync("wallet/ticket.css", "utf8");
  assert.match(css, /\.card \{[^}]*forced-color-adjust: none/);
});

// Fills the path's rectangles, eight pixels a module.
function rendered({ size, path }: { size: number; path: string }): { width: number; height: number; data: Uint8Array } {
  const side = size * 8;
  const data = new Uint8Array(side * side * 4).fill(255);
  for (const [, x = 0, y = 0, length = 0] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let row = Number(y) * 8; row < (Number(y) + 1) * 8; row++) {
      for (let column = Number(x) * 8; column < (Number(x) + Number(length)) * 8; column++) data.fill(0, (row * side + column) * 4, (row * side + column) * 4 + 3);
    }
  }
  return { width: side, height: side, data };
}
