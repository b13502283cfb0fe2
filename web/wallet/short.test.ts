import { test } from "node:test";
import assert from "node:assert/strict";
import { grouped, heard, shortOf, spelled, type Asked } from "./short.js";

const at = (milliseconds: number) => new Date(milliseconds).toISOString();
const shown: Asked = { kind: "shown", code: "082913", until: 60_000 };

test("the seconds of a short code count down to one, and at zero it is gone", () => {
  const seconds = [0, 1, 999, 1000, 59_000, 59_999].map((now) => shortOf(shown, true, now));
  assert.deepEqual(
    seconds.map((short) => short?.kind === "shown" && short.left),
    [60, 60, 60, 59, 1, 1],
  );
  assert.deepEqual(shortOf(shown, true, 60_000), { kind: "offered" });
  assert.equal(shortOf(shown, false, 60_000), undefined);
});

test("only a live code is offered in exchange, and what was asked for is said whatever became of the network", () => {
  assert.deepEqual(shortOf(undefined, true, 0), { kind: "offered" });
  assert.equal(shortOf(undefined, false, 0), undefined);
  for (const live of [true, false]) {
    assert.deepEqual(shortOf({ kind: "asked" }, live, 0), { kind: "asked" });
    assert.deepEqual(shortOf({ kind: "failed", until: 10 }, live, 9), { kind: "failed" });
    assert.equal(shortOf(shown, live, 0)?.kind, "shown");
  }
});

test("digits live no longer than the server gave them, whichever way this phone's idea of its time errs", () => {
  const answer = { code: "082913", server_time: at(1_000_000), expires_at: at(1_060_000) };
  for (const [now, left] of [[1_000_000, 60_000], [990_000, 60_000], [1_005_000, 55_000]] as const) {
    const asked = heard(answer, now);
    assert.equal(asked?.kind === "shown" && asked.until - now, left);
  }
});

test("an answer that is not six digits, or has lapsed, is none", () => {
  for (const code of ["", "48291", "4829133", "48291a", "482 913"]) {
    assert.equal(heard({ code, server_time: at(0), expires_at: at(60_000) }, 0), undefined, code);
  }
  assert.equal(heard({ code: "482913", server_time: at(0), expires_at: at(60_000) }, 60_000), undefined);
  assert.equal(heard({ code: "482913", server_time: "", expires_at: "" }, 0), undefined);
});

test("the eye gets two groups, the ear one digit after the other, and a leading zero is one of them", () => {
  assert.equal(grouped("082913"), "082 913");
  assert.equal(spelled("082913"), "0, 8, 2, 9, 1, 3");
});
