import { test } from "node:test";
import assert from "node:assert/strict";
import type { Class } from "./answers.js";
import { classOf, type Shown } from "./screen.js";
import { Senses, sounds, vibrations } from "./senses.js";

const classes: readonly Class[] = ["admit", "ask", "refuse", "again"];
const pairs = classes.flatMap((a, i) => classes.slice(i + 1).map((b) => [a, b] as const));

test("no two classes feel alike: their vibrations differ in length by a fifth at least", () => {
  const length = (cls: Class) => vibrations[cls].reduce((sum, part) => sum + part, 0);
  for (const [a, b] of pairs) {
    const [short, long] = [length(a), length(b)].sort((x, y) => x - y) as [number, number];
    const rhythm = vibrations[a].length !== vibrations[b].length;
    assert.ok(rhythm || long / short >= 1.2, `${a} and ${b}`);
  }
});

test("no two classes sound alike: they differ in melody or in the number of notes", () => {
  const melody = (cls: Class) => sounds[cls].map(({ hertz, wave }) => `${hertz} ${wave}`).join();
  for (const [a, b] of pairs) assert.notEqual(melody(a), melody(b), `${a} and ${b}`);
});

test("only an admission rises", () => {
  const rises = (cls: Class) => (sounds[cls].at(-1)?.hertz ?? 0) > (sounds[cls][0]?.hertz ?? 0);
  assert.deepEqual(classes.filter(rises), ["admit"]);
});

/** Stands in for the browser's audio and notes the pitch of each tone that it is asked for. */
class Ear {
  static readonly heard: number[] = [];
  readonly state = "running";
  readonly currentTime = 0;
  readonly destination = {};
  createGain() {
    const gain = { value: 0, setValueAtTime() {}, linearRampToValueAtTime() {} };
    return { gain, connect: (next: unknown) => next };
  }
  createOscillator() {
    const frequency = { value: 0 };
    return { type: "", frequency, connect: (next: unknown) => next, start: () => Ear.heard.push(frequency.value), stop() {} };
  }
  async resume() {}
}

const answered = (cls: Class, reason: string): Shown => ({
  kind: "answer",
  answer: { verdict: cls === "admit" ? "admit" : "refuse", class: cls, reason, replayed: false, title: "", advice: "", actions: [], server_time: "" },
});

test("only an admission is heard as one: not a ticket already used, nor a strange code, nor a refused call", () => {
  // A browser that cannot vibrate; Node 20 has no navigator at all, newer ones a read-only one.
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true });
  Object.assign(globalThis, { AudioContext: Ear });
  const senses = new Senses();
  senses.unlock();
  const heard = (act: () => void) => {
    Ear.heard.length = 0;
    act();
    return Ear.heard.join();
  };
  const admission = heard(() => senses.answer(classOf(answered("admit", "admitted"))));
  assert.equal(admission, sounds.admit.map(({ hertz }) => hertz).join());
  const others: readonly Shown[] = [
    answered("ask", "already_used"),
    answered("refuse", "already_used"),
    answered("refuse", "bad_signature"),
    answered("again", "stale_nonce"),
    { kind: "foreign", reason: "not_a_ticket", what: "claim_link" },
    { kind: "problem", code: "session.right_missing", detail: "" },
  ];
  for (const other of others) {
    const sound = heard(() => senses.answer(classOf(other)));
    assert.notEqual(sound, "", "silence");
    assert.ok(!sound.includes(admission), `${JSON.stringify(other)} sounds like an admission`);
  }
  assert.notEqual(heard(() => senses.tick()), admission);
});
