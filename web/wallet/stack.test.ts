import { test } from "node:test";
import assert from "node:assert/strict";
import { leavesOut, merge, toFollow } from "./session.js";
import { faceKind, firstOf, linkStands, nextOf, remaining } from "./stack.js";
import { during, event, held, offer, offered } from "./testing.js";

const [a, b, c] = ["a", "b", "c"].map((ticket) => held({ ticket })) as [ReturnType<typeof held>, ReturnType<typeof held>, ReturnType<typeof held>];
const used = (ticket: typeof a) => ({ ...ticket, state: "used" as const, entries: 1 });

test("the first ticket that is still good lies on top", () => {
  assert.equal(firstOf([used(a), b, c], during), 1);
  assert.equal(firstOf([used(a), used(b)], during), 0);
  assert.equal(firstOf([], during), 0);
});

test("of last week's and tonight's tickets tonight's lie on top, even used ones", () => {
  const past = { ...event, ends_at: "2026-11-30T21:00:00Z" };
  assert.equal(firstOf([{ ...a, event: past }, b], during), 1);
  assert.equal(firstOf([{ ...a, event: past }, used(b)], during), 1);
  assert.equal(firstOf([{ ...a, event: past }, { ...b, event: past }], during), 1);
});

test("after an admission the next good ticket of the same event comes, round the stack", () => {
  assert.equal(nextOf([a, used(b), c], 1, during), 2);
  assert.equal(nextOf([a, used(b), used(c)], 2, during), 0);
  assert.equal(nextOf([used(a), used(b)], 0, during), undefined);
  assert.equal(nextOf([used(a), { ...b, event: { ...event, event: "another" } }], 0, during), undefined);
});

test("a family's ticket says how many may still come in", () => {
  assert.equal(remaining({ ...a, admits: 4, entries: 1 }), 3);
  assert.equal(remaining({ ...a, admits: 1, entries: 3 }), 0);
});

test("within door hours an active ticket shows a code and nothing else", () => {
  assert.equal(faceKind(a, during, undefined, false), "code");
  assert.equal(faceKind(a, Date.parse(event.doors_open_at), undefined, false), "code");
  assert.equal(faceKind(a, Date.parse(event.ends_at) - 1, undefined, false), "code");
});

test("before the doors open the time is shown, unless the guest wants the code", () => {
  const before = Date.parse(event.doors_open_at) - 1;
  assert.equal(faceKind(a, before, undefined, false), "waiting");
  assert.equal(faceKind(a, before, undefined, true), "code");
});

test("what became of a ticket is said, and a welcome comes first", () => {
  for (const state of ["used", "held", "revoked", "moved"] as const) assert.equal(faceKind({ ...a, state }, during, undefined, true), state);
  assert.equal(faceKind(a, Date.parse(event.ends_at), undefined, false), "over");
  assert.equal(faceKind(used(a), during, { at: "", gate: "" }, false), "welcome");
});

const taken = offered({ claimable: false, claimed: { at: "2026-12-01T10:00:00Z", browser: "Safari, iPhone" } });
const later = { claim_from: "2026-12-03T12:00:00Z", claimable: false };

test("a link is ready, early, taken or gone", () => {
  assert.equal(linkStands(offer()), "ready");
  assert.equal(linkStands(offer({ tickets: [taken, offered()] })), "ready");
  assert.equal(linkStands(offer({ ...later, tickets: [offered({ claimable: false })] })), "early");
  assert.equal(linkStands(offer({ claimable: false, tickets: [taken] })), "taken");
  assert.equal(linkStands(offer({ claimable: false, tickets: [offered({ claimable: false, status: "revoked" })] })), "gone");
  assert.equal(linkStands(offer({ claimable: false, server_time: "2026-12-04T10:00:00Z", tickets: [offered({ claimable: false })] })), "gone");
});

test("the server's word on a ticket replaces ours, key and link stay", () => {
  const [now] = merge([{ ...a, admitted: { at: "x", gate: "y" } }], { tickets: [{ ...used(a), number: 7 }], server_time: "" });
  assert.equal(now?.state, "used");
  assert.equal(now?.number, 7);
  assert.equal(now?.key, a.key);
  assert.equal(now?.admitted, undefined, "an entry that was taken back is forgotten");
});

test("of a ticket that moved away only that is believed", () => {
  const [now] = merge([a], { tickets: [{ ...a, state: "moved", seat: "", number: 0 }], server_time: "" });
  assert.equal(now?.state, "moved");
  assert.equal(now?.seat, a.seat);
});

test("an answer about an older claim of the ticket changes nothing", () => {
  const mine = { ...a, generation: 2 };
  assert.deepEqual(merge([mine], { tickets: [{ ...a, generation: 1, state: "moved" }], server_time: "" }), [mine]);
});

test("a session that leaves one of the phone's tickets out is noticed, over and moved ones are not missed", () => {
  const answer = { tickets: [a], server_time: "" };
  assert.equal(leavesOut([a], answer, during), false);
  assert.equal(leavesOut([a, b], answer, during), true);
  assert.equal(leavesOut([a, { ...b, state: "moved" }], answer, during), false);
  assert.equal(leavesOut([{ ...a, generation: 2 }], answer, during), true);
  assert.deepEqual(toFollow([a, b], Date.parse(event.ends_at)), []);
});
