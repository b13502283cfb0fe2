import { test } from "node:test";
import assert from "node:assert/strict";
import type { ReasonCount } from "./answers.js";
import { begins, busy, strips, ticks } from "./strips.js";

const count = (reason: string, kind: ReasonCount["class"], ...over_time: number[]): ReasonCount => ({
  reason,
  class: kind,
  attempts: over_time.reduce((sum, one) => sum + one, 0),
  over_time,
});

test("admissions come first, however few, and then what was answered most", () => {
  const all = strips([count("stale_nonce", "again", 0, 9), count("already_used", "ask", 1, 0), count("admitted", "admit", 2, 3)]);
  assert.deepEqual(all.map(({ reason }) => reason), ["admitted", "stale_nonce", "already_used"]);
});

test("a strip knows its highest bar, the first of several, and when that was", () => {
  const [strip] = strips([count("moved", "refuse", 0, 4, 4, 1)]);
  assert.deepEqual({ most: strip?.most, at: strip?.at }, { most: 4, at: 1 });
  const report = { from: "2026-11-30T18:00:00Z", step_s: 300 };
  assert.equal(begins(report, strip?.at ?? 0).toISOString(), "2026-11-30T18:05:00.000Z");
});

test("the axis names beginnings of buckets, never more than fit", () => {
  const report = { from: "2026-11-30T18:00:00Z", to: "2026-11-30T20:20:00Z", step_s: 300 };
  const all = ticks(report, 5);
  assert.deepEqual(all.map(({ at }) => at.toISOString().slice(11, 16)), ["18:00", "18:30", "19:00", "19:30", "20:00"]);
  assert.equal(all[0]?.part, 0);
  assert.ok(all.every(({ part }) => part < 1));
  assert.equal(ticks({ ...report, to: "2026-11-30T18:00:30Z" }, 5).length, 1, "one bucket has one name");
});

test("the table has a line for each bucket in which something happened", () => {
  assert.deepEqual(busy([count("moved", "refuse", 0, 4, 0, 1), count("held", "ask", 0, 0, 0, 2)]), [1, 3]);
  assert.deepEqual(busy([]), []);
});
