// What this device knows to have been let in since its pack was made: by itself
// without network, and by the server's answers to it. A pack that was asked for
// after the server had recorded a use contains it, and the use is forgotten.

import type { Passage } from "./decide.js";
import type { PackTicket } from "./pack.js";

/** A passage through this gate. */
export interface Use extends Passage {
  /** The scan's key. */
  readonly key: string;
  readonly ticket: string;
  /** Unix milliseconds by the server's clock, as far as the device knew it. */
  readonly at: number;
  /** What the code signed (nonce or time); empty for paper. */
  readonly proof: string;
  readonly generation: number;
  readonly person: string;
  /** Let in against this reason. */
  readonly over?: string;
  /** Its answer was on the screen. */
  readonly seen: boolean;
  /** The server has it. */
  readonly recorded: boolean;
}

/** A use older than this many milliseconds is of an event that is over. */
const forgotten = 48 * 3_600_000;

/** What is let in at this device. */
export class Uses {
  readonly #by = new Map<string, Use>();

  constructor(uses: readonly Use[], now: number) {
    for (const use of uses) if (now - use.at < forgotten) this.#by.set(use.key, use);
  }

  get(key: string): Use | undefined {
    return this.#by.get(key);
  }

  put(use: Use): void {
    this.#by.set(use.key, use);
  }

  of(ticket: string): readonly Use[] {
    return [...this.#by.values()].filter((use) => use.ticket === ticket);
  }

  /** The ticket as it stands now: the pack's row and what came since. */
  applied(ticket: string, row: PackTicket): PackTicket {
    let { entries, inside } = row;
    for (const { direction, people } of this.of(ticket)) {
      entries += direction === "in" ? people : 0;
      inside += direction === "in" ? people : -people;
    }
    return { ...row, entries, inside: Math.max(0, inside) };
  }

  /** The last entry of a ticket here. */
  last(ticket: string): Use | undefined {
    return this.of(ticket)
      .filter(({ direction }) => direction === "in")
      .reduce<Use | undefined>((last, use) => (last === undefined || use.at > last.at ? use : last), undefined);
  }

  /** The passage of a ticket whose answer nobody saw: the page died between deciding and showing. */
  unseen(ticket: string, direction: "in" | "out"): Use | undefined {
    return this.of(ticket).find((use) => !use.seen && use.direction === direction);
  }

  /** Whether this proof made a passage in this direction before. */
  proved(ticket: string, direction: "in" | "out", proof: string): boolean {
    return proof !== "" && this.of(ticket).some((use) => use.direction === direction && use.proof === proof);
  }

  /** The keys that a pack which is asked for now will contain. */
  recorded(): readonly string[] {
    return [...this.#by.values()].filter((use) => use.recorded).map(({ key }) => key);
  }

  forget(keys: readonly string[]): void {
    for (const key of keys) this.#by.delete(key);
  }
}
