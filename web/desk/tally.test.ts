import { test } from "node:test";
import assert from "node:assert/strict";
import type { Listed } from "./answers.js";
import { add, mostPages, nothing } from "./tally.js";

const ticket = (change: Partial<Listed>): Listed => ({
  ticket: "t",
  number: 1,
  category: "c",
  category_name: "Standard",
  seat: "",
  holder: { name: "", email: "" },
  external_id: "",
  status: "active",
  claim: "none",
  generation: 0,
  entries: 0,
  inside: 0,
  admits: 1,
  extra: 0,
  ...change,
});

test("pages add up, and the last one makes the counts whole", () => {
  const first = add(nothing, [ticket({ claim: "phone" }), ticket({ claim: "paper", status: "used", inside: 1 })], "next", 1);
  assert.equal(first.whole, false);
  const all = add(first, [ticket({ admits: 4, inside: 3, claim: "phone" }), ticket({ status: "held" })], "", 2);
  assert.deepEqual(all, { issued: 4, phone: 2, paper: 1, inside: 4, held: 1, revoked: 0, whole: true, stopped: false });
});

test("a cancelled ticket is not issued any more and not on any phone, but its people may still be inside", () => {
  const { issued, phone, inside, revoked } = add(nothing, [ticket({ status: "revoked", claim: "phone", inside: 1 })], "", 1);
  assert.deepEqual({ issued, phone, inside, revoked }, { issued: 0, phone: 0, inside: 1, revoked: 1 });
});

test("counting a long list stops and says so", () => {
  assert.equal(add(nothing, [], "next", mostPages).stopped, true);
  assert.equal(add(nothing, [], "", mostPages).stopped, false);
});
