import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import { Numbering, type Kept } from "./numbering.js";

const kept = (number: number): Kept => ({ lease: `lease ${number}`, number });
const ended = new Problem({ status: 410, retryAfter: 0 }, { code: "number.lease_ended" });

/** A server that answers at once, from a list; what was called is written down. */
function world(...answers: (Kept | Error)[]) {
  const log: string[] = [];
  const shown: (number | undefined)[] = [];
  const waits: { milliseconds: number; then: () => void }[] = [];
  let hidden = false;
  const next = async (called: string): Promise<Kept> => {
    log.push(called);
    const answer = answers.shift();
    if (answer === undefined) throw new Error("the server has nothing more to say");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const numbering = new Numbering({
    reserve: (event) => next(`reserve ${event}`),
    renew: (lease) => next(`renew ${lease}`),
    release: (lease) => void log.push(`release ${lease}`),
    wait: (milliseconds, then) => {
      const entry = { milliseconds, then };
      waits.push(entry);
      return () => void (waits.includes(entry) && waits.splice(waits.indexOf(entry), 1));
    },
    hidden: () => hidden,
    changed: (now) => void shown.push(now?.number),
  });
  const pass = async () => {
    for (const { then } of waits.splice(0)) then();
    await settled();
  };
  return { numbering, log, shown, waits, pass, hide: (yes: boolean) => (hidden = yes) };
}

const settled = () => new Promise<void>((done) => setImmediate(done));

test("a form that is open and seen keeps its number, renewed every five seconds", async () => {
  const { numbering, log, shown, waits, pass } = world(kept(7), kept(7), kept(7));
  numbering.follow("e", false);
  await settled();
  assert.equal(waits[0]?.milliseconds, 5_000);
  await pass();
  await pass();
  assert.deepEqual(log, ["reserve e", "renew lease 7", "renew lease 7"]);
  assert.deepEqual(shown, [7]);
});

test("a form that is left gives its number back at once, and only once", async () => {
  const { numbering, log, waits } = world(kept(7));
  numbering.follow("e", false);
  await settled();
  numbering.follow(undefined, false);
  numbering.follow(undefined, false);
  numbering.left();
  assert.deepEqual(log, ["reserve e", "release lease 7"]);
  assert.equal(waits.length, 0);
});

test("the form of another event gives the number of the first back", async () => {
  const { numbering, log } = world(kept(7), kept(1));
  numbering.follow("e", false);
  await settled();
  numbering.follow("f", false);
  await settled();
  assert.deepEqual(log, ["reserve e", "release lease 7", "reserve f"]);
});

test("a number that arrives after the form was left is given back", async () => {
  const { numbering, log, shown } = world(kept(7));
  numbering.follow("e", false);
  numbering.follow(undefined, false);
  await settled();
  assert.deepEqual(log, ["reserve e", "release lease 7"]);
  assert.deepEqual(shown, []);
});

test("a page that nobody sees renews nothing, and renews at once when it is seen again", async () => {
  const { numbering, log, hide, pass } = world(kept(7), kept(7));
  numbering.follow("e", false);
  await settled();
  hide(true);
  await pass();
  await pass();
  assert.deepEqual(log, ["reserve e"]);
  hide(false);
  numbering.seen();
  await settled();
  assert.deepEqual(log, ["reserve e", "renew lease 7"]);
});

test("a lost number is replaced by another, and the form hears of it", async () => {
  const { numbering, log, shown, pass } = world(kept(7), ended, kept(9));
  numbering.follow("e", false);
  await settled();
  await pass();
  assert.deepEqual(log, ["reserve e", "renew lease 7", "reserve e"]);
  assert.deepEqual(shown, [7, 9]);
});

test("while an order is under way nothing is renewed; what becomes of the lease is asked afterwards", async () => {
  const { numbering, log, waits } = world(kept(7), kept(7));
  numbering.follow("e", false);
  await settled();
  numbering.follow("e", true);
  numbering.seen();
  await settled();
  assert.equal(waits.length, 0);
  assert.deepEqual(log, ["reserve e"]);
  numbering.follow("e", false);
  await settled();
  assert.deepEqual(log, ["reserve e", "renew lease 7"]);
});

test("the lease that a refusal gives is kept instead of the lost one", async () => {
  const { numbering, log, shown, pass } = world(kept(7), kept(9));
  numbering.follow("e", false);
  await settled();
  numbering.adopt(kept(9));
  await pass();
  assert.deepEqual(log, ["reserve e", "renew lease 9"]);
  assert.deepEqual(shown, [7, 9]);
});

test("without an answer the number stays in view and is asked for again after two seconds", async () => {
  const { numbering, log, shown, waits, pass } = world(kept(7), new Unreachable("network"), kept(7));
  numbering.follow("e", false);
  await settled();
  await pass();
  assert.equal(waits[0]?.milliseconds, 2_000);
  await pass();
  assert.deepEqual(log, ["reserve e", "renew lease 7", "renew lease 7"]);
  assert.deepEqual(shown, [7]);
});

test("whoever may not reserve gets no number and does not ask on", async () => {
  const { numbering, shown, waits } = world(kept(7), new Problem({ status: 403, retryAfter: 0 }, { code: "session.right_missing" }));
  numbering.follow("e", false);
  await settled();
  numbering.seen();
  await settled();
  assert.deepEqual(shown, [7, undefined]);
  assert.equal(waits.length, 0);
});

test("a page that is left and comes back whole reserves anew", async () => {
  const { numbering, log } = world(kept(7), kept(8));
  numbering.follow("e", false);
  await settled();
  numbering.left();
  numbering.seen();
  await settled();
  assert.deepEqual(log, ["reserve e", "release lease 7", "reserve e"]);
});
