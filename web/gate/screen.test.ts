import { test } from "node:test";
import assert from "node:assert/strict";
import type { Class } from "./answers.js";
import { after, classOf, empty, takes, type Event, type Screen, type Shown } from "./screen.js";

const shown = (cls: Class): Shown => ({
  kind: "answer",
  answer: { verdict: "admit", class: cls, reason: "r", replayed: false, title: "", advice: "", actions: [], server_time: "" },
});
const run = (...events: Event[]): Screen => events.reduce(after, empty);
const sent: Event = { kind: "sent", key: "1" };
const answered = (cls: Class): Event => ({ kind: "answered", shown: shown(cls), id: "t", key: "1" });

test("an admission fades to a strip and leaves the picture free", () => {
  const screen = run(sent, answered("admit"), { kind: "faded", key: "1" });
  assert.equal(screen.over.kind, "nothing");
  assert.equal(screen.last?.key, "1");
});

test("the strip stays until the next scan", () => {
  const screen = run(sent, answered("admit"), { kind: "faded", key: "1" }, { kind: "sent", key: "2" });
  assert.equal(screen.last, undefined);
});

test("what asks, refuses or wants another try does not fade", () => {
  for (const cls of ["ask", "refuse", "again"] as const) {
    assert.equal(run(sent, answered(cls), { kind: "faded", key: "1" }).over.kind, "answer");
  }
});

test("the fading of an earlier admission does not take a later answer away", () => {
  const screen = run(sent, answered("admit"), { kind: "answered", shown: shown("admit"), id: "u", key: "2" }, { kind: "faded", key: "1" });
  assert.equal(screen.over.kind, "answer");
});

test("the next code may follow an admission and a retry, but not what a person has to decide", () => {
  assert.deepEqual(
    (["admit", "again", "ask", "refuse"] as const).map((cls) => takes(run(sent, answered(cls)))),
    [true, true, false, false],
  );
  assert.equal(takes(run(sent)), false);
  assert.equal(takes(empty), true);
});

test("a tap ends every answer", () => {
  for (const cls of ["admit", "ask", "refuse", "again"] as const) {
    assert.equal(run(sent, answered(cls), { kind: "tapped" }).over.kind, "nothing");
  }
});

test("a tap does not lose a scan that is out", () => {
  assert.equal(run(sent, { kind: "tapped" }).over.kind, "asking");
});

test("an admitted phone that is handed back gets no second full green", () => {
  const screen = run({ kind: "answered", shown: shown("admit"), id: "t", old: true });
  assert.equal(screen.over.kind, "nothing");
  assert.equal(screen.last?.old, true);
});

test("a refused phone that comes back is refused over the whole screen again", () => {
  const screen = run({ kind: "answered", shown: shown("refuse"), id: "t", old: true });
  assert.equal(screen.over.kind, "answer");
});

test("setting aside frees the picture for the next person", () => {
  const screen = run(sent, { kind: "slow", key: "1" }, { kind: "set_aside" });
  assert.ok(takes(screen));
});

test("only the present scan can become slow", () => {
  const screen = run(sent, { kind: "slow", key: "0" });
  assert.ok(screen.over.kind === "asking" && !screen.over.slow);
});

test("a code that waits behind an answer is said once", () => {
  const screen = run(sent, answered("ask"), { kind: "other" });
  assert.equal(after(screen, { kind: "other" }), screen);
});

test("only an admission is green: nothing that was found here or refused by a call is", () => {
  assert.equal(classOf({ kind: "foreign", reason: "not_a_ticket" }), "again");
  assert.equal(classOf({ kind: "problem", code: "x", detail: "" }), "ask");
});
