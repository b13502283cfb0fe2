// Scans on their way. Each is stored with its key before it is sent and is sent
// again under the same key until the server has decided; one that hangs does
// not hold up the others. It knows neither the page nor HTTP: sending, storing
// and waiting are given to it.

import { Problem, Unreachable, type Cause } from "../shared/api.js";
import type { Answer } from "./answers.js";
import type { Scan } from "./calls.js";

/** How a scan ended. */
export type Outcome =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "problem"; readonly code: string; readonly detail: string };

/** A scan with its key, as it is kept. */
export interface Stored extends Scan {
  readonly key: string;
  readonly ticket: string;
  /** Set when the server has decided; kept until somebody saw it. */
  readonly outcome?: Outcome;
}

/** Starts a wait of so many milliseconds and returns what ends it early without effect. */
export type Wait = (milliseconds: number, then: () => void) => () => void;

/** What the outbox needs from around it. */
export interface Surroundings {
  send(scan: Scan, key: string): Promise<Answer>;
  put(scan: Stored): Promise<void>;
  delete(key: string): Promise<void>;
  newKey(): string;
  wait: Wait;
  /** The server has decided. */
  decided(scan: Stored, outcome: Outcome): void;
  /** Whether the last try reached the server, and why not. */
  network(reached: boolean, why?: Cause): void;
  /** The server does not accept this device or person at present; the scan is kept. */
  barred(problem: Problem): void;
}

interface Item {
  scan: Stored;
  tries: number;
  flying: boolean;
  stopWaiting: () => void;
}

/** Milliseconds before the next try. */
export function backOff(tries: number, random: number): number {
  return Math.min(500 * 2 ** Math.max(0, tries - 1), 15_000) * (0.75 + random / 2);
}

export class Outbox {
  readonly #around: Surroundings;
  readonly #items = new Map<string, Item>();
  #stopped = false;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Takes up what an earlier page left behind. */
  resume(scans: readonly Stored[]): void {
    for (const scan of scans) {
      const item = this.#add(scan);
      if (scan.outcome === undefined) void this.#try(item);
    }
  }

  /** Scans without an answer, and those whose answer nobody saw. */
  open(): readonly Stored[] {
    return [...this.#items.values()].map((item) => item.scan);
  }

  get(key: string): Stored | undefined {
    return this.#items.get(key)?.scan;
  }

  /** The ticket's scan that is open, if there is one. */
  of(ticket: string): Stored | undefined {
    return this.open().find((scan) => scan.ticket === ticket);
  }

  /**
   * Sends a scan of a ticket. While an earlier one of it is unanswered, or its
   * answer unseen, this is the same scan with a fresher code.
   */
  send(ticket: string, scan: Scan): Stored {
    const earlier = this.open().find((one) => one.ticket === ticket && one.direction === scan.direction);
    const item = earlier ? this.#item(earlier) : this.#add({ ...scan, key: this.#around.newKey(), ticket });
    return this.#resend(item, { ...scan, key: item.scan.key, ticket });
  }

  /** Sends the scan once more under its key with what its own button adds. */
  amend(scan: Stored, more: Pick<Scan, "people" | "phone_offline" | "override">): Stored {
    const { outcome: _, ...rest } = scan;
    return this.#resend(this.#item(rest), { ...rest, ...more });
  }

  /** Somebody saw the answer: the scan is over. */
  async seen(key: string): Promise<void> {
    if (this.#items.get(key)?.scan.outcome === undefined) return;
    this.#items.delete(key);
    await this.#around.delete(key);
  }

  /** The scan is told to the server in another way, so nothing that still comes of it counts here. */
  async take(key: string): Promise<void> {
    this.#items.get(key)?.stopWaiting();
    if (this.#items.delete(key)) await this.#around.delete(key);
  }

  /** Tries all that wait at once: the network is back, or somebody signed on. */
  hurry(): void {
    for (const item of this.#items.values()) this.#hurry(item);
  }

  #add(scan: Stored): Item {
    const item: Item = { scan, tries: 0, flying: false, stopWaiting: () => undefined };
    this.#items.set(scan.key, item);
    return item;
  }

  #item(scan: Stored): Item {
    return this.#items.get(scan.key) ?? this.#add(scan);
  }

  #resend(item: Item, scan: Stored): Stored {
    item.scan = scan;
    item.tries = 0;
    // Stored first: what is sent may be decided without this page hearing of it.
    void this.#around.put(scan).then(() => this.#hurry(item));
    return scan;
  }

  /** Ends all waiting; what is open stays stored for the next page or person. */
  stop(): void {
    this.#stopped = true;
    for (const item of this.#items.values()) item.stopWaiting();
  }

  #hurry(item: Item): void {
    if (this.#stopped || item.flying || item.scan.outcome !== undefined) return;
    item.stopWaiting();
    void this.#try(item);
  }

  async #try(item: Item): Promise<void> {
    const sent = item.scan;
    const { key, ticket: _ticket, outcome: _outcome, ...scan } = sent;
    item.flying = true;
    item.tries++;
    try {
      const answer = await this.#around.send(scan, key);
      item.flying = false;
      this.#around.network(true);
      await this.#decided(item, sent, { kind: "answer", answer });
    } catch (error) {
      item.flying = false;
      await this.#failed(item, sent, error);
    }
  }

  async #failed(item: Item, sent: Stored, error: unknown): Promise<void> {
    const problem = error instanceof Problem ? error : undefined;
    this.#around.network(problem !== undefined, causeOf(error));
    if (problem !== undefined && isFinal(problem)) {
      return this.#decided(item, sent, { kind: "problem", code: problem.code, detail: problem.detail });
    }
    if (problem !== undefined && isBarred(problem)) this.#around.barred(problem);
    const asked = error instanceof Problem || error instanceof Unreachable ? error.retryAfter * 1000 : 0;
    if (this.#stopped || this.#items.get(sent.key) !== item) return;
    const pause = Math.max(asked, backOff(item.tries, Math.random()));
    item.stopWaiting = this.#around.wait(pause, () => void this.#try(item));
  }

  async #decided(item: Item, sent: Stored, outcome: Outcome): Promise<void> {
    if (this.#items.get(sent.key) !== item) return;
    // A button or a fresher code came while this was out: its answer counts.
    // An admission answers both, since both have the same key.
    if (item.scan !== sent && !(outcome.kind === "answer" && outcome.answer.verdict === "admit")) {
      void this.#try(item);
      return;
    }
    item.scan = { ...item.scan, outcome };
    if (this.#stopped) return void this.#around.put(item.scan);
    this.#around.decided(item.scan, outcome);
    // Shown first, kept after: a person waits for the one, nobody for the other.
    if (this.#items.has(item.scan.key)) await this.#around.put(item.scan);
  }
}

/** Why a call did not reach the server; undefined when it did. */
export function causeOf(error: unknown): Cause | undefined {
  if (error instanceof Problem) return undefined;
  return error instanceof Unreachable ? error.why : "network";
}

/** Whether the device or its person has to be put right first. */
export function isBarred(problem: Problem): boolean {
  return problem.status === 401 || problem.code === "session.sign_on_required";
}

/** Whether repeating the same call cannot help. */
function isFinal(problem: Problem): boolean {
  return problem.status < 500 && problem.status !== 429 && !isBarred(problem);
}
