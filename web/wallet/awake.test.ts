import { mock, test, type TestContext } from "node:test";
import assert from "node:assert/strict";
import { Awake, awakeFor } from "./awake.js";

/** A browser that counts its wake locks. */
function browser(t: TestContext) {
  const counts = { requested: 0, held: 0 };
  const wakeLock = {
    request: () => {
      counts.requested++;
      counts.held++;
      const lock = { released: false, release: () => Promise.resolve(lock.released || (counts.held--, (lock.released = true))) };
      return Promise.resolve(lock);
    },
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { wakeLock } });
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => {
    mock.timers.reset();
    if (before !== undefined) Object.defineProperty(globalThis, "navigator", before);
  });
  return counts;
}

// Lets promises that are already fulfilled run.
const settled = () => new Promise<void>((done) => setImmediate(done));

test("the screen is kept on while a code is shown and released when none is", async (t) => {
  const counts = browser(t);
  const awake = new Awake();
  awake.want(true);
  awake.want(true);
  await settled();
  assert.deepEqual(counts, { requested: 1, held: 1 });
  awake.want(false);
  await settled();
  assert.equal(counts.held, 0);
});

test("three minutes after the last touch the phone may sleep, and a touch keeps it awake again", async (t) => {
  const counts = browser(t);
  const awake = new Awake();
  awake.want(true);
  await settled();
  mock.timers.tick(awakeFor - 1);
  awake.touch();
  await settled();
  mock.timers.tick(awakeFor - 1);
  await settled();
  assert.equal(counts.held, 1);
  mock.timers.tick(1);
  await settled();
  assert.equal(counts.held, 0);
  awake.touch();
  await settled();
  assert.equal(counts.held, 1);
});

test("a touch where no code is shown keeps nothing awake", async (t) => {
  const counts = browser(t);
  new Awake().touch();
  await settled();
  assert.equal(counts.requested, 0);
});

test("a lock that comes after it was given up is given back", async (t) => {
  const counts = browser(t);
  const awake = new Awake();
  awake.want(true);
  awake.want(false);
  await settled();
  assert.equal(counts.held, 0);
});
