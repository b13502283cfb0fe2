import { test } from "node:test";
import assert from "node:assert/strict";
import { printPacked } from "../proof/code.js";
import { gap, least, leastInField, most, Wedge, type Burst, type Stroke } from "./wedge.js";

const code = proof(1);
const other = proof(2);

function proof(n: number): string {
  return printPacked({ kind: "nonce", ticket: `00000000-0000-4000-8000-00000000000${n}`, generation: 1, nonce: new Uint8Array(16).fill(n), signature: new Uint8Array(64).fill(37 * n) });
}

/** What a US keyboard has on its keys. */
const keys: Readonly<Record<string, readonly [code: string, shift: boolean]>> = {
  " ": ["Space", false], "$": ["Digit4", true], "%": ["Digit5", true], "*": ["Digit8", true], "+": ["Equal", true],
  "-": ["Minus", false], ".": ["Period", false], "/": ["Slash", false], ":": ["Semicolon", true],
};

/** The strokes of a scanner that is set to a US keyboard, on a computer whose layout makes other characters of them. */
function strokes(text: string, more: { every?: number; at?: number; layout?: (char: string) => string; field?: boolean; code?: boolean } = {}): Stroke[] {
  const { every = 4, at = 1000, layout = (char: string) => char, field = false } = more;
  return [...text].map((char, i) => {
    const [name, shift] = keys[char] ?? (/\d/.test(char) ? [`Digit${char}`, false] : [`Key${char.toUpperCase()}`, char !== char.toLowerCase()]);
    return { key: layout(char), code: more.code === false ? "" : name, shift, at: at + i * every, field };
  });
}

const enter = (at: number, field = false): Stroke => ({ key: "Enter", code: "Enter", shift: false, at, field });

function scan(list: readonly Stroke[]): { bursts: Burst[]; taken: boolean[]; wedge: Wedge } {
  const bursts: Burst[] = [];
  const wedge = new Wedge((burst) => bursts.push(burst));
  return { bursts, wedge, taken: list.map((one) => wedge.stroke(one)) };
}

test("a burst that ends with Enter is one code, and the page gets none of its end", () => {
  const { bursts, taken } = scan([...strokes(code), enter(1000 + 4 * code.length)]);
  assert.deepEqual(bursts, [{ kind: "code", text: code }]);
  assert.ok(taken.slice(least - 1).every(Boolean));
});

test("a burst without Enter ends by silence", () => {
  const { bursts, wedge } = scan(strokes(code));
  assert.equal(bursts.length, 0);
  wedge.end();
  assert.deepEqual(bursts, [{ kind: "code", text: code }]);
});

test("a burst is told from the next by the time between them", () => {
  const { bursts, wedge } = scan([...strokes(code), ...strokes(other, { at: 1000 + 4 * code.length + gap + 1 })]);
  wedge.end();
  assert.deepEqual(bursts, [{ kind: "code", text: code }, { kind: "code", text: other }]);
});

test("a person's typing is left to the page", () => {
  for (const every of [gap + 1, 80, 200]) {
    const { bursts, taken, wedge } = scan([...strokes("Anna Dvorakova 148", { every }), enter(1000 + 18 * every)]);
    wedge.end();
    assert.deepEqual([bursts, taken.some(Boolean)], [[], false]);
  }
});

test("too little for a code is nobody's burst", () => {
  for (const text of ["", "P", "     ", "12345"]) assert.deepEqual(scan([...strokes(text), enter(1030)]).bursts, [], JSON.stringify(text));
});

test("a space among the first keys presses no button", () => {
  const { taken } = scan(strokes("AB C"));
  assert.deepEqual(taken, [false, false, true, false]);
});

test("the keys are read where the layout makes other characters of them", () => {
  const azerty: Readonly<Record<string, string>> = { A: "Q", Q: "A", Z: "W", W: "Z", M: "?", ":": "M", "1": "&", "2": "é", "3": '"', "4": "'", "5": "(", "6": "-", "7": "è", "8": "_", "9": "ç", "0": "à", "-": ")", ".": ":", "/": "!", "$": "4", "%": "5", "*": "8", "+": "+" };
  const qwertz: Readonly<Record<string, string>> = { Y: "Z", Z: "Y", ":": '"', "-": "=", "/": "-", "+": "ˇ", "1": "+", "2": "ě", "3": "š", "4": "č", "5": "ř", "6": "ž", "7": "ý", "8": "á", "9": "í", "0": "é" };
  const cyrillic = (char: string) => (/[A-Z]/.test(char) ? String.fromCodePoint(0x410 + char.charCodeAt(0) - 65) : char);
  const layouts = [(char: string) => azerty[char] ?? char, (char: string) => qwertz[char] ?? char, cyrillic, () => "Dead", () => "Process"];
  for (const layout of layouts) {
    assert.deepEqual(scan([...strokes(code, { layout }), enter(1000 + 4 * code.length)]).bursts, [{ kind: "code", text: code }]);
  }
});

test("the characters are read where the system names no keys, and Caps Lock is forgiven", () => {
  const turned = (char: string) => char.toLowerCase();
  for (const layout of [(char: string) => char, turned]) {
    assert.deepEqual(scan([...strokes(code, { layout, code: false }), enter(1000 + 4 * code.length)]).bursts, [{ kind: "code", text: code }]);
  }
});

test("what a scanner puts before and after a code is stripped", () => {
  for (const text of [`]Q3${code}`, `Q${code}`, `${code}   `, `STORE01:${code}XYZ`, `  ${code}`]) {
    assert.deepEqual(scan([...strokes(text), enter(1000 + 4 * text.length)]).bursts, [{ kind: "code", text: code }], text);
  }
});

test("two codes in one go are refused, the same one twice is one", () => {
  assert.deepEqual(scan([...strokes(code + other), enter(1000 + 8 * code.length)]).bursts, [{ kind: "glued" }]);
  assert.deepEqual(scan([...strokes(code + code), enter(1000 + 8 * code.length)]).bursts, [{ kind: "code", text: code }]);
});

test("a flood is one short answer, and the next code is read", () => {
  const flood = strokes("A".repeat(64_000), { every: 1 });
  const after = strokes(code, { at: 1000 + 64_000 + 2 * gap });
  const { bursts, wedge } = scan([...flood, ...after]);
  wedge.end();
  assert.ok(flood.length > most);
  assert.deepEqual(bursts, [{ kind: "flood" }, { kind: "code", text: code }]);
});

test("in a field a short fast text stays, and a code does not", () => {
  const words = scan([...strokes("dvorak", { field: true }), enter(1024, true)]);
  assert.deepEqual([words.bursts, words.taken.some(Boolean)], [[], false]);
  const scanned = scan([...strokes(code, { field: true }), enter(1000 + 4 * code.length, true)]);
  assert.deepEqual(scanned.bursts, [{ kind: "code", text: code }]);
  assert.ok(scanned.taken.slice(leastInField - 1).every(Boolean));
  const link = "HTTPS//WWW.EXAMPLE.ORG/SOME/PAGE";
  assert.deepEqual(scan([...strokes(link, { field: true }), enter(1000 + 4 * link.length, true)]).bursts, [{ kind: "code", text: link }]);
});
