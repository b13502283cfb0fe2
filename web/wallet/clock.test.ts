import { test } from "node:test";
import assert from "node:assert/strict";
import { Clock } from "./clock.js";

const hour = 3600_000;
const truth = Date.parse("2026-12-03T19:00:00Z");

/** A world in which time passes, and a phone whose clock is `wrong` milliseconds off. */
function world(wrong: number) {
  const now = { true: truth, running: 5000, wrong };
  return {
    now,
    pass(milliseconds: number) {
      now.true += milliseconds;
      now.running += milliseconds;
    },
    sleep(milliseconds: number) {
      now.true += milliseconds;
    },
    sources: { running: () => now.running, phone: () => now.true + now.wrong },
  };
}

/** A question whose answer carries the server's time halfway. */
function ask(w: ReturnType<typeof world>, clock: Clock, roundTrip = 100): void {
  const sent = clock.running();
  w.pass(roundTrip / 2);
  const time = new Date(w.now.true).toISOString();
  w.pass(roundTrip / 2);
  clock.learn(time, sent);
}

for (const wrong of [30_000, -30_000, 90_000, -90_000, hour, -hour, 24 * hour, -24 * hour]) {
  test(`a phone that is ${wrong / 1000} s off knows the server's time after one answer`, () => {
    const w = world(wrong);
    const clock = new Clock(0, w.sources);
    assert.equal(clock.now(), w.now.true + wrong);
    ask(w, clock);
    assert.equal(clock.now(), w.now.true);
    assert.equal(clock.offset(), -wrong);
  });
}

test("the next visit starts with what was learned, before any answer", () => {
  const w = world(hour);
  assert.equal(new Clock(-hour, w.sources).now(), truth);
});

test("a clock that is set while the page is in view changes nothing", () => {
  const w = world(0);
  const clock = new Clock(0, w.sources);
  ask(w, clock);
  w.now.wrong = -3 * hour;
  w.pass(10_000);
  assert.equal(clock.now(), w.now.true);
});

test("a phone that slept goes on from where it is", () => {
  const w = world(90_000);
  const clock = new Clock(0, w.sources);
  ask(w, clock);
  clock.rest();
  w.sleep(2 * hour);
  clock.woke();
  assert.equal(clock.now(), w.now.true);
});

test("a slow answer does not spoil what a quick one told, unless they contradict each other", () => {
  const w = world(0);
  const clock = new Clock(0, w.sources);
  ask(w, clock, 40);
  const sent = clock.running();
  w.pass(4000);
  clock.learn(new Date(w.now.true).toISOString(), sent); // sent at the very end: half of the way is a wrong guess
  assert.equal(clock.now(), w.now.true);
  const again = clock.running();
  w.pass(4000);
  w.now.true += hour; // the server's clock was put right
  clock.learn(new Date(w.now.true).toISOString(), again);
  assert.ok(Math.abs(clock.now() - w.now.true) <= 2000);
});

test("news from the stream can only move the time forward", () => {
  const w = world(0);
  const clock = new Clock(0, w.sources);
  clock.atLeast(new Date(truth - hour).toISOString());
  assert.equal(clock.now(), truth);
  clock.atLeast(new Date(truth + hour).toISOString());
  assert.equal(clock.now(), truth + hour);
});

test("an answer without a readable time teaches nothing", () => {
  const w = world(0);
  const clock = new Clock(0, w.sources);
  clock.learn("soon", clock.running());
  clock.atLeast("soon");
  assert.equal(clock.now(), truth);
});
