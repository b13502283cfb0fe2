import { test } from "node:test";
import assert from "node:assert/strict";
import { numbers } from "./issuing.js";
import { category, event, fault, isTrouble, missing, seats, tickets } from "./orders.js";

test("seats are separated by commas, semicolons or lines, and empty ones are none", () => {
  assert.deepEqual(seats("F12, F13;F14\n\n F15 ,"), ["F12", "F13", "F14", "F15"]);
  assert.deepEqual(seats(" , "), []);
});

test("several seats are as many tickets without being counted", () => {
  const body = tickets({ category: "c", seat: "F12, F13", count: "1" }) as Record<string, unknown>;
  assert.deepEqual(body["seats"], ["F12", "F13"]);
  assert.ok(!("count" in body) && !("seat" in body));
});

test("a number that contradicts the seats is sent, so that the server refuses it", () => {
  assert.equal((tickets({ category: "c", seat: "F12, F13", count: "3" }) as Record<string, unknown>)["count"], 3);
});

test("one seat and an empty number are one ticket; a number that is none is sent as one that is refused", () => {
  assert.deepEqual(tickets({ category: "c", seat: "F12", count: "" }), { category: "c", holder: { name: "", email: "" }, external_id: "", seat: "F12", count: 1 });
  for (const count of ["many", "-3", "1.5", "99999999999"]) assert.equal((tickets({ count }) as Record<string, unknown>)["count"], -1, count);
});

const filled = {
  name: "Late Show",
  date: "2026-11-30",
  doors_open_at: "22:00",
  starts_at: "22:30",
  ends_at: "00:30",
  claim_from: "days",
  "policy.freshness": "assisted",
  "policy.rescan": "show_time",
  "policy.rescan_window_s": "7",
  "policy.show_names": "yes",
};
const now = new Date("2026-11-30T12:00:00Z");

test("an event's times are the venue's and its minutes are seconds on the wire", () => {
  const body = event(filled, "v", "Europe/Prague", now) as Record<string, unknown>;
  assert.equal(body["starts_at"], "2026-11-30T21:30:00.000Z");
  assert.equal(body["ends_at"], "2026-11-30T23:30:00.000Z");
  assert.deepEqual(body["policy"], { freshness: "assisted", rescan: "show_time", rescan_window_s: 420, reentry: false, show_names: true });
  assert.ok(!("claim_from" in body), "three days before doors is the server's own default");
});

test("tickets that go on phones at once do so from now on", () => {
  assert.equal((event({ ...filled, claim_from: "at_once" }, "v", "Europe/Prague", now) as Record<string, unknown>)["claim_from"], now.toISOString());
});

test("an event without a start is not sent, and the field is named", () => {
  const trouble = event({ ...filled, starts_at: "" }, "v", "Europe/Prague", now);
  assert.ok(isTrouble(trouble));
  assert.equal(fault(trouble, "starts_at"), "required");
  assert.equal(fault(trouble, "ends_at"), undefined);
});

test("a category names the gates that are ticked, and no gate is every gate", () => {
  assert.deepEqual(category({ name: "Family", admits: "4", paper: "yes", "gate:a": "yes", "gate:b": "" }), { name: "Family", admits: 4, paper: true, gates: ["a"] });
  assert.deepEqual(category({ name: "Standard", admits: "" }), { name: "Standard", admits: 1, paper: false, gates: [] });
});

test("a fault of one of several seats is shown at the field that took them", () => {
  assert.equal(fault(missing([{ name: "seats[2]", code: "too_long" }]), "seat"), "too_long");
  assert.equal(fault(missing([{ name: "seats", code: "conflicting" }]), "seat"), "conflicting");
});

test("numbers are written as runs", () => {
  assert.equal(numbers([3, 7, 8, 9, 1200]), "3, 7–9, 1200");
  assert.equal(numbers([5]), "5");
});
