// Who is in front of the camera. A code changes every few seconds and a camera
// reads it fifteen times a second, so a presentation is told by the ticket in
// the code's bytes and by time, not by the text.

import { classOf, type Shown } from "./screen.js";

/**
 * What a sighting means: a presentation that is `new`; the `same` one still
 * going on, of which nothing needs to be said; `pending`, shown once more while
 * its answer is out; or `again`, shown once more after its answer.
 */
export type Sighting = "new" | "same" | "pending" | "again";

/** After leaving the view, a ticket stays known for this many milliseconds. */
export const remembered = 10_000;

/** Unseen for longer than this many milliseconds, it was taken away in between. */
export const glimpse = 1_500;

interface Entry {
  lastSeen: number;
  text: string;
  answer: Shown | undefined;
}

/** Remembers tickets (and other codes) in view. Times are milliseconds of any one clock. */
export class Known {
  readonly #entries = new Map<string, Entry>();

  /** Judges a sighting. `deliberate` is one that somebody made on purpose: typed, or by a scanner's trigger. */
  sight(id: string, text: string, now: number, deliberate = false): Sighting {
    const entry = this.#entries.get(id);
    if (entry === undefined || (entry.answer !== undefined && now - entry.lastSeen > remembered)) return "new";
    const away = now - entry.lastSeen > glimpse;
    entry.lastSeen = now;
    // "Try again" was about the code, so another code of the ticket is another try.
    if (entry.answer !== undefined && classOf(entry.answer) === "again" && entry.text !== text) return "new";
    if (!away && !deliberate) return "same";
    return entry.answer === undefined ? "pending" : "again";
  }

  /** A scan of it goes out now. */
  began(id: string, text: string, now: number): void {
    for (const [other, entry] of this.#entries) {
      if (entry.answer !== undefined && now - entry.lastSeen > remembered) this.#entries.delete(other);
    }
    this.#entries.set(id, { lastSeen: now, text, answer: undefined });
  }

  /** Its answer came. */
  answered(id: string, answer: Shown): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.answer = answer;
  }

  /** The answer that was given to it. */
  recall(id: string): Shown | undefined {
    return this.#entries.get(id)?.answer;
  }

  /** Whoever is seen from now on is somebody new. */
  forgetAll(): void {
    this.#entries.clear();
  }

  /** The next sighting is new: the controller wants it judged afresh. */
  forget(id: string): void {
    this.#entries.delete(id);
  }
}
