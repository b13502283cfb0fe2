import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import { Receipts, type Receipt } from "./receipts.js";

const receipt = (n: number): Receipt => ({ ticket: `t${n}`, key: `k${n}` });
const settled = () => new Promise((resolve) => setImmediate(resolve));

function world(answers: (unknown | undefined)[]) {
  const shelf = new Map<string, Receipt>();
  const sent: string[][] = [];
  const waits: (() => void)[] = [];
  const receipts = new Receipts({
    send: async (batch) => {
      assert.ok(batch.every(({ key }) => shelf.has(key)), "sent before it was stored");
      sent.push(batch.map(({ key }) => key));
      const answer = answers.shift();
      if (answer !== undefined) throw answer;
    },
    put: async (one) => void shelf.set(one.key, one),
    delete: async (key) => void shelf.delete(key),
    wait: (_, then) => {
      waits.push(then);
      return () => void (waits.includes(then) && waits.splice(waits.indexOf(then), 1));
    },
  });
  return { receipts, shelf, sent, waits };
}

test("a receipt is stored, sent, and then forgotten", async () => {
  const { receipts, shelf, sent } = world([]);
  await receipts.shown(receipt(1));
  await settled();
  assert.deepEqual(sent, [["k1"]]);
  assert.equal(shelf.size, 0);
});

test("without network, or with nobody signed on, receipts wait and then go together", async () => {
  const { receipts, shelf, sent, waits } = world([new Unreachable("network"), new Problem({ status: 401, retryAfter: 0 }, { code: "session.unknown_credential" })]);
  await receipts.shown(receipt(1));
  await settled();
  await receipts.shown(receipt(2));
  await settled();
  assert.equal(shelf.size, 2);
  waits.pop()?.();
  await settled();
  assert.deepEqual(sent.at(-1), ["k1", "k2"]);
  assert.equal(shelf.size, 0);
});

test("what the server will never take does not go round for ever", async () => {
  const { receipts, shelf, sent } = world([new Problem({ status: 400, retryAfter: 0 }, { code: "request.fields" })]);
  await receipts.shown(receipt(1));
  await settled();
  assert.deepEqual([sent.length, shelf.size], [1, 0]);
});

test("what an earlier page left behind goes in calls of a hundred", async () => {
  const { receipts, shelf, sent } = world([]);
  const left = Array.from({ length: 230 }, (_, n) => receipt(n));
  for (const one of left) shelf.set(one.key, one);
  receipts.resume(left);
  for (let n = 0; n < 300; n++) await settled();
  assert.deepEqual([sent.map((batch) => batch.length), shelf.size], [[100, 100, 30], 0]);
});
