// A hand scanner types what it reads, wherever the focus is: this tells its bursts
// from a person's typing by their pace, and reads each twice, by the characters that
// the keyboard's layout made of it and by the keys themselves as a US keyboard has
// them. The reading that is one of our codes counts. It knows neither page nor clock.

import { parse, refused } from "../proof/parse.js";

/** One key as the page hears of it; `at` is in milliseconds of any one clock. */
export interface Stroke {
  readonly key: string;
  /** The physical key, as `KeyboardEvent.code` names it; empty where the system does not say. */
  readonly code: string;
  readonly shift: boolean;
  readonly at: number;
  /** The focus is in a field. */
  readonly field: boolean;
}

/**
 * What a finished burst is: a code as it would come from a camera; several that were
 * read in one go; something that unpacks to nothing; or more than any code is long.
 */
export type Burst =
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "glued" }
  | { readonly kind: "flood" };

/** Strokes further apart than this many milliseconds are two things; scanners need 1 to 30, fast fingers 60. */
export const gap = 50;

/** So many strokes at that pace are no person's. */
export const least = 6;

/** In a field, where somebody may type fast or paste, it takes so many unless they are a code of ours. */
export const leastInField = 20;

/** More than any code with whatever a scanner adds; what is beyond is counted and not kept. */
export const most = 5_000;

/** What a US keyboard types with each key, plain and shifted. */
const us: Readonly<Record<string, string>> = {
  Backquote: "`~", Minus: "-_", Equal: "=+", BracketLeft: "[{", BracketRight: "]}", Backslash: "\\|", Semicolon: ";:", Quote: "'\"",
  Comma: ",<", Period: ".>", Slash: "/?", Space: "  ", IntlBackslash: "\\|",
  NumpadAdd: "++", NumpadSubtract: "--", NumpadMultiply: "**", NumpadDivide: "//", NumpadDecimal: "..",
};

const shiftedDigits = ")!@#$%^&*(";

/** The character of a physical key on a US keyboard; none where the key types nothing. */
function usCharacter({ code, shift }: Stroke): string {
  const letter = /^Key([A-Z])$/.exec(code)?.[1];
  if (letter !== undefined) return shift ? letter : letter.toLowerCase();
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  if (digit !== undefined) return shift ? shiftedDigits.charAt(Number(digit)) : digit;
  const pad = /^Numpad(\d)$/.exec(code)?.[1];
  return pad ?? us[code]?.charAt(shift ? 1 : 0) ?? "";
}

export class Wedge {
  readonly #ended: (burst: Burst) => void;
  #strokes: Stroke[] = [];
  #length = 0;
  #last = -Infinity;

  constructor(ended: (burst: Burst) => void) {
    this.#ended = ended;
  }

  /** Strokes that came in one go so far. */
  get length(): number {
    return this.#length;
  }

  /**
   * Takes one stroke. Says whether it belongs to a scanner: then the page must not
   * act on it. The first few of a burst are not known to, but a space among them is:
   * it would press a button.
   */
  stroke(stroke: Stroke): boolean {
    if (stroke.at - this.#last > gap) this.end();
    this.#last = stroke.at;
    if (stroke.key === "Enter" || stroke.key === "Tab") {
      return this.end();
    }
    if (characterOf(stroke) === "" && usCharacter(stroke) === "") return false;
    this.#length++;
    if (this.#length <= most) this.#strokes.push(stroke);
    return this.#length >= (stroke.field ? leastInField : least) || (!stroke.field && this.#length > 1 && stroke.key === " ");
  }

  /** Nothing came for a while: what there is, is a whole burst, or was a person. Says which. */
  end(): boolean {
    const strokes = this.#strokes;
    const length = this.#length;
    this.#strokes = [];
    this.#length = 0;
    if (length < least) return false;
    const [ours, burst] = length > most ? ([true, { kind: "flood" }] as const) : read(strokes.map(characterOf).join(""), strokes.map(usCharacter).join(""));
    if (!ours && length < leastInField && strokes[0]?.field === true) return false;
    this.#ended(burst);
    return true;
  }
}

/** The character that the layout made of it; none of a key that makes none, or only begins one. */
function characterOf({ key }: Stroke): string {
  return [...key].length === 1 ? key : "";
}

/** Reads a burst by its characters and by its keys, and says whether that gave a code of ours. */
function read(typed: string, keyed: string): readonly [ours: boolean, burst: Burst] {
  const readings = [typed, keyed].filter((text) => text !== "");
  for (const text of readings.flatMap(spellings)) {
    const code = ours(text);
    if (code !== undefined) return [true, code];
  }
  return [false, { kind: "code", text: (readings[0] ?? "").trim() }];
}

/** A reading as it is and with the capitals that Caps Lock turned round; packed codes have no small letters. */
function spellings(text: string): readonly string[] {
  const turned = [...text].map((char) => (char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase())).join("");
  return [text, turned, text.toUpperCase()];
}

/** Finds our code in a reading, between what a scanner was told to put before and after it. */
function ours(text: string): Burst | undefined {
  if (!refused(parse(text.trim()))) return { kind: "code", text: text.trim() };
  const codes = new Set<string>();
  let from = 0;
  for (;;) {
    const found = next(text, from);
    if (found === undefined) break;
    codes.add(found.code);
    from = found.end;
  }
  const [only] = codes;
  if (only === undefined) return undefined;
  return codes.size > 1 ? { kind: "glued" } : { kind: "code", text: only };
}

/** How long our packed codes are, by prefix, in characters. */
const lengths: Readonly<Record<string, readonly number[]>> = { "PT1:": [151, 133], "PS1:": [133], "PK1:": [52], "PG1:": [58] };

/** The first whole code of ours from a place on. */
function next(text: string, from: number): { code: string; end: number } | undefined {
  for (const match of text.slice(from).matchAll(/P[TSKG]1:/g)) {
    const start = from + match.index;
    for (const length of lengths[match[0]] ?? []) {
      const code = text.slice(start, start + length);
      if (code.length === length && whole(code)) return { code, end: start + length };
    }
  }
  return undefined;
}

/** Whether it unpacks: to a ticket's code, or to a gate's, which is then said to be one. */
function whole(code: string): boolean {
  const read = parse(code);
  return !refused(read) || (read.reason === "not_a_ticket" && read.what === "gate_code");
}
