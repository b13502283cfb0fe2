import { test } from "node:test";
import assert from "node:assert/strict";
import type { Class } from "./answers.js";
import { sounds, vibrations } from "./senses.js";

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
