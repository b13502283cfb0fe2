import { test } from "node:test";
import assert from "node:assert/strict";
import { choose, gateLasts, left, silence, type Known } from "./freshness.js";

const now = 1_780_000_003_000;
const feed = { open: true, nonce: "AAAA", issued_at: now - 3000, received: 97_000 };
const known: Known = { gate: undefined, feed, reachable: true, now, running: 100_000 };

test("the venue's nonce is signed while it is fresh", () => {
  assert.deepEqual(choose(known), { kind: "pushed", id: "pushed AAAA", nonce: "AAAA", from: now - 3000, lasts: 10_000 });
});

test("there is something to sign in every case, and the sentence knows why it is only the time", () => {
  const cases: [string, Partial<Known>, string][] = [
    ["no network", { feed: undefined, reachable: false }, "offline"],
    ["no network and an old nonce", { running: 97_000 + silence, reachable: false }, "offline"],
    ["no gate is held", { feed: { ...feed, open: false } }, "closed"],
    ["twenty seconds of silence", { running: 97_000 + silence }, "silent"],
    ["nothing heard yet", { feed: undefined }, "silent"],
  ];
  for (const [name, change, why] of cases) {
    const fresh = choose({ ...known, ...change });
    assert.equal(fresh.kind, "timed", name);
    assert.equal(fresh.kind === "timed" && fresh.why, why, name);
  }
});

test("a nonce that is still fresh counts although the network has just gone", () => {
  assert.equal(choose({ ...known, reachable: false }).kind, "pushed");
});

test("a code by time is signed anew every ten seconds", () => {
  const at = (later: number) => choose({ ...known, feed: undefined, now: now + later }).id;
  assert.equal(at(0), at(6_999));
  assert.notEqual(at(0), at(7_000));
});

test("what a gate showed comes first until it lapses there", () => {
  const gate = { nonce: "BBBB", read: 99_000, until: 144_000 };
  assert.deepEqual(choose({ ...known, gate }), { kind: "shown", id: "shown BBBB", nonce: "BBBB", from: now - 1000, lasts: 45_000 });
  assert.equal(choose({ ...known, gate, running: 144_000, feed: undefined }).kind, "timed");
});

test("an answer to a gate's code is shown no longer than the gate takes it, even if that code was about to change", () => {
  assert.equal(gateLasts(60), 45_000);
  assert.equal(gateLasts(0), 15_000);
});

test("the ring empties from one to nothing and not beyond", () => {
  const fresh = { from: 1000, lasts: 10_000 };
  assert.deepEqual([0, 1000, 6000, 11_000, 99_000].map((at) => left(fresh, at)), [1, 1, 0.5, 0, 0]);
});
