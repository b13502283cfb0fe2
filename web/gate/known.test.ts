import { test } from "node:test";
import assert from "node:assert/strict";
import { glimpse, Known, remembered } from "./known.js";
import type { Shown } from "./screen.js";

const no: Shown = { kind: "problem", code: "x", detail: "" };
const onceMore: Shown = { kind: "foreign", reason: "stale_nonce" };

function shownAt(now: number, answer?: Shown): Known {
  const known = new Known();
  known.began("ticket", "code 1", now);
  if (answer !== undefined) known.answered("ticket", answer);
  return known;
}

test("a ticket that stays in view is one presentation, whatever its rotating text and however long", () => {
  const known = shownAt(0, no);
  for (let now = 66; now < 60_000; now += 66) assert.equal(known.sight("ticket", `code ${now}`, now), "same");
});

test("a ticket that comes back within ten seconds of leaving gets its old answer", () => {
  const known = shownAt(0, no);
  assert.equal(known.sight("ticket", "code 2", remembered), "again");
});

test("a ticket that comes back later is a scan of its own", () => {
  const known = shownAt(0, no);
  assert.equal(known.sight("ticket", "code 2", remembered + 1), "new");
});

test("frames that the camera misses do not make a second presentation", () => {
  const known = shownAt(0, no);
  assert.equal(known.sight("ticket", "code 1", glimpse), "same");
});

test("after “try again” another code of the ticket is another try, the same code is not", () => {
  const known = shownAt(0, onceMore);
  assert.equal(known.sight("ticket", "code 1", 100), "same");
  assert.equal(known.sight("ticket", "code 2", 200), "new");
});

test("a ticket shown again while its answer is out waits for that answer, even after minutes", () => {
  const known = shownAt(0);
  assert.equal(known.sight("ticket", "code 1", 100), "same");
  assert.equal(known.sight("ticket", "code 9", 120_000), "pending");
});

test("what is typed is always a presentation of its own", () => {
  const known = shownAt(0, no);
  assert.equal(known.sight("ticket", "code 1", 100, true), "again");
});

test("a forgotten ticket is judged afresh at the next sighting", () => {
  const known = shownAt(0, no);
  known.forget("ticket");
  assert.equal(known.sight("ticket", "code 1", 100), "new");
});

test("a ticket that could not be taken yet is still new when it can be", () => {
  const known = shownAt(0, no);
  assert.equal(known.sight("other", "code", 10), "new");
  assert.equal(known.sight("other", "code", 20), "new");
});
