import { test } from "node:test";
import assert from "node:assert/strict";
import { dayIn, moment, partOf, showing } from "./when.js";

const prague = "Europe/Prague";

test("a time on the venue's clock is that moment wherever the laptop stands", () => {
  assert.equal(moment(prague, "2026-11-30", "19:30")?.toISOString(), "2026-11-30T18:30:00.000Z");
  assert.equal(moment(prague, "2026-07-01", "19:30")?.toISOString(), "2026-07-01T17:30:00.000Z");
  assert.equal(moment("America/New_York", "2026-07-01", "19:30")?.toISOString(), "2026-07-01T23:30:00.000Z");
  assert.equal(moment("Asia/Kathmandu", "2026-07-01", "00:15")?.toISOString(), "2026-06-30T18:30:00.000Z");
});

test("on the night of the change of clocks a time that does not exist comes an hour later, and one that comes twice is the first", () => {
  assert.equal(moment(prague, "2026-03-29", "02:30")?.toISOString(), "2026-03-29T01:30:00.000Z");
  assert.equal(moment(prague, "2026-10-25", "02:30")?.toISOString(), "2026-10-25T00:30:00.000Z");
  assert.equal(moment(prague, "2026-10-25", "03:00")?.toISOString(), "2026-10-25T02:00:00.000Z");
  assert.equal(moment(prague, "2026-03-29", "03:00")?.toISOString(), "2026-03-29T01:00:00.000Z");
});

test("what is no day or no time is no moment", () => {
  for (const [day, time] of [["", "19:30"], ["2026-11-30", ""], ["2026-13-40", "19:30"], ["2026-11-30", "25:00"]] as const) assert.equal(moment(prague, day, time), undefined);
});

test("a late show ends on the following day, and one that starts after midnight begins there", () => {
  const late = showing(prague, "2026-11-30", "22:00", "22:30", "00:45");
  assert.ok("end" in late);
  assert.equal(late.end.toISOString(), "2026-11-30T23:45:00.000Z");
  const midnight = showing(prague, "2026-12-31", "23:30", "00:05", "02:00");
  assert.ok("end" in midnight);
  assert.deepEqual([midnight.start.toISOString(), midnight.end.toISOString()], ["2026-12-31T23:05:00.000Z", "2027-01-01T01:00:00.000Z"]);
});

test("a missing time is named by the field it belongs to", () => {
  assert.deepEqual(showing(prague, "2026-11-30", "19:00", "", "22:00"), ["starts_at"]);
  assert.deepEqual(showing(prague, "", "19:00", "19:30", "22:00"), ["date"]);
});

test("the day is the venue's: just after midnight in Prague it is still yesterday in London", () => {
  const at = new Date("2026-07-01T22:30:00Z");
  assert.equal(dayIn(prague, at), "2026-07-02");
  assert.equal(dayIn("Europe/London", at), "2026-07-01");
});

test("tonight is what runs now or opens today; what has ended is over even today", () => {
  const event = (doors: string, ends: string) => ({ time_zone: prague, doors_open_at: doors, ends_at: ends });
  const now = new Date("2026-11-30T20:00:00Z");
  assert.equal(partOf(event("2026-11-30T22:30:00Z", "2026-12-01T01:00:00Z"), now), "tonight");
  assert.equal(partOf(event("2026-11-28T10:00:00Z", "2026-12-01T01:00:00Z"), now), "tonight");
  assert.equal(partOf(event("2026-12-01T17:00:00Z", "2026-12-01T21:00:00Z"), now), "coming");
  assert.equal(partOf(event("2026-11-30T17:00:00Z", "2026-11-30T20:00:00Z"), now), "over");
});
