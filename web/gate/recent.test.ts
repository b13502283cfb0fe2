import { test } from "node:test";
import assert from "node:assert/strict";
import type { Answer } from "./answers.js";
import type { Stored } from "./outbox.js";
import { changed, recentKept, withAnswer, type Recent } from "./recent.js";

const scan = (key: string): Stored => ({ key, ticket: "t", gate: "g", code: "c", scanned_at: "2026-11-30T19:20:00Z" });
const answer = (more: Partial<Answer>): Answer => ({
  verdict: "admit", class: "admit", reason: "admitted", replayed: false, title: "", advice: "", actions: [], server_time: "", people: 1,
  ticket: {
    ticket: "t1", number: 7, category: "", seat: "F12", holder: "María", event_name: "", screen: "Screen 3", doors_open_at: "", starts_at: "", venue_name: "", time_zone: "UTC",
  },
  ...more,
});

test("an admission may be taken back, a refusal not, and no name is kept", () => {
  const [one] = withAnswer([], scan("k1"), answer({}));
  assert.deepEqual([one?.undoable, one?.ticket?.place], [true, "Screen 3 · F12"]);
  assert.equal(JSON.stringify(one).includes("María"), false);
  const [two] = withAnswer([], scan("k2"), answer({ verdict: "refuse", class: "ask", reason: "already_used" }));
  assert.equal(two?.undoable, false);
});

test("a scan that is answered again has one place, the newest", () => {
  const list = withAnswer(withAnswer(withAnswer([], scan("k1"), answer({ verdict: "retry" })), scan("k2"), answer({})), scan("k1"), answer({}));
  assert.deepEqual(list.map(({ key, undoable }) => [key, undoable]), [["k1", true], ["k2", true]]);
});

test("fifty are kept", () => {
  let list: readonly Recent[] = [];
  for (let n = 0; n < 60; n++) list = withAnswer(list, scan(`k${n}`), answer({}));
  assert.deepEqual([list.length, list[0]?.key], [recentKept, "k59"]);
  assert.equal(changed(list, "k30", { undone: true }).filter(({ undone }) => undone).length, 1);
});
