import { test } from "node:test";
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { OwnNonces } from "./nonces.js";

const seed = Uint8Array.from({ length: 32 }, (_, i) => i);
const at = Date.parse("2026-12-07T19:41:00Z");

test("the nonce of a step is what the server makes of the same seed", async () => {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 15_000)));
  const want = createHmac("sha256", seed).update("portillon shown").update(counter).digest().subarray(0, 16);
  assert.deepEqual(Buffer.from(await (await OwnNonces.from(seed)).now(at)), want);
});

test("a nonce is known for a minute, called old after it, and foreign when another device made it", async () => {
  const own = await OwnNonces.from(seed);
  const nonce = await own.now(at);
  assert.equal(await own.madeAt(nonce, at), at);
  assert.equal(await own.madeAt(nonce, at + 59_999), at);
  assert.equal(await own.madeAt(nonce, at + 60_000), 0);
  assert.equal(await own.madeAt(nonce, at + 615_000), undefined);
  assert.equal(await own.madeAt(nonce, at - 15_000), undefined, "one that is still to come");
  const other = await OwnNonces.from(seed.map((byte) => byte ^ 1));
  assert.equal(await other.madeAt(nonce, at), undefined);
});
