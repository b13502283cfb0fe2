import { test } from "node:test";
import assert from "node:assert/strict";
import { newKeyPair, verifyPhone } from "../proof/keys.js";
import { parse } from "../proof/parse.js";
import { choose, type Fresh } from "./freshness.js";
import { codeOf, due, Rotation, stays, type Shown } from "./rotation.js";
import type { Held } from "./store.js";
import { held } from "./testing.js";

const pushed = (nonce: string): Fresh => ({ kind: "pushed", id: `pushed ${nonce}`, nonce, from: 0, lasts: 10_000 });
const answer = (nonce: string): Fresh => ({ kind: "shown", id: `shown ${nonce}`, nonce, from: 0, lasts: 45_000 });
const one = pushed("AAAAAAAAAAAAAAAAAAAAAA");
const two = pushed("BBBBBBBBBBBBBBBBBBBBBA");
const timed: Fresh = { kind: "timed", id: "timed 0", why: "offline", from: 0, lasts: 10_000 };
const shown = (fresh: Fresh, since: number): Shown => ({ ticket: "t", fresh, symbol: { size: 45, path: "" }, since });

test("a code is left alone while there is nothing new to sign", () => {
  assert.equal(due(shown(one, 0), "t", one, 5000), undefined);
});

test("a code that a reader may be looking at is not taken away in its first two seconds", () => {
  assert.equal(due(shown(one, 1000), "t", two, 1500), stays - 500);
  assert.equal(due(shown(one, 1000), "t", two, 9000), 0);
});

test("another ticket, the first code and an answer to a gate come at once", () => {
  assert.equal(due(undefined, "t", one, 0), 0);
  assert.equal(due(shown(one, 1000), "other", two, 1001), 0);
  assert.equal(due(shown(one, 1000), "t", answer("BBBBBBBBBBBBBBBBBBBBBA"), 1001), 0);
});

async function withKey(): Promise<{ ticket: Held; pair: CryptoKeyPair }> {
  const pair = await newKeyPair();
  return { ticket: held({ key: pair.privateKey }), pair };
}

test("codes of every kind are signed by the ticket's key and read back as what they are", async () => {
  const { ticket, pair } = await withKey();
  for (const fresh of [one, timed, answer("BBBBBBBBBBBBBBBBBBBBBA")]) {
    const code = parse(await codeOf(ticket, fresh, 1_780_000_003_400));
    assert.ok("kind" in code && (code.kind === "nonce" || code.kind === "time"));
    assert.equal(code.ticket, ticket.ticket);
    assert.equal(code.generation, ticket.generation);
    assert.ok(await verifyPhone(code, pair.publicKey, ticket.event.event));
    if (code.kind === "time") assert.equal(code.issued_at, 1_780_000_003);
  }
});

test("a nonce that is not 16 bytes is not signed", async () => {
  const { ticket } = await withKey();
  await assert.rejects(codeOf(ticket, pushed("AAAA"), 0));
});

test("the latest wish wins, and a code is only ever replaced by a whole one", async () => {
  const { ticket } = await withKey();
  let running = 0;
  const seen: (string | undefined)[] = [];
  const rotation = await new Promise<Rotation>((done) => {
    const rotation: Rotation = new Rotation(
      () => running,
      () => {
        const now = rotation.shown(ticket.ticket);
        assert.ok(now?.symbol.path.startsWith("M"));
        seen.push(now?.fresh.id);
        running += stays;
        if (seen.length === 2) done(rotation);
      },
    );
    rotation.want(ticket, one, () => 0);
    rotation.want(ticket, timed, () => 0); // while the first is being signed
    rotation.want(ticket, two, () => 0);
  });
  assert.deepEqual(seen, [one.id, two.id]);
  assert.equal(rotation.shown(ticket.ticket)?.fresh.id, two.id);
  rotation.rest();
  assert.equal(rotation.shown(ticket.ticket), undefined);
});

test("what is chosen without network is signed too", async () => {
  const { ticket } = await withKey();
  const fresh = choose({ gate: undefined, feed: undefined, reachable: false, now: 1_780_000_000_000, running: 0 });
  assert.match(await codeOf(ticket, fresh, 1_780_000_000_000), /^PT1:/);
});
