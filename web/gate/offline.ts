// Working without network: when it is offered, that it is on, and what is said of it
// all the time. The controller chooses; nothing goes over to it or back by itself.
// What decides is loaded once the gate is at work (alone.ts).

import { Problem, Unreachable, type Cause } from "../shared/api.js";
import type { Alone, AloneSurroundings, Asked, Data } from "./alone.js";
import type { Answer, Hold } from "./answers.js";
import type { Stored } from "./outbox.js";
import { noTally, type Tally } from "./uploads.js";

/** What is to be said of the network and of working without it. */
export interface AloneView {
  /** `offered` names why nobody answers; `back` is the network that is there again while the gate works without it. */
  readonly mode: "off" | "offered" | "on" | "back";
  readonly cause?: Cause;
  readonly data: Data;
  /** Scans decided here that the server has not judged. */
  readonly unsent: number;
  readonly tally: Tally;
}

export interface OfflineSurroundings extends Omit<AloneSurroundings, "heard" | "changed"> {
  changed(): void;
  network(reached: boolean, why?: Cause): void;
  barred(problem: Problem): void;
}

export class Offline {
  readonly #around: OfflineSurroundings;
  #alone: Alone | undefined;
  #opening: Promise<void> | undefined;
  #on = false;
  #cause: Cause | undefined;
  #stopped = false;

  constructor(around: OfflineSurroundings) {
    this.#around = around;
  }

  /** Loads what decides and takes up what is kept. With `on` the gate begins without network. */
  open(on = false): Promise<void> {
    this.#on ||= on;
    return (this.#opening ??= this.#open());
  }

  async #open(): Promise<void> {
    if (this.#around.device.packs !== true) return;
    const { heard, ...around } = { ...this.#around, heard: (error: unknown) => this.#heard(error) };
    const { Alone } = await import("./alone.js");
    const alone = await Alone.open({ ...around, heard });
    if (this.#stopped) return alone.stop();
    this.#alone = alone;
    this.#around.changed();
  }

  stop(): void {
    this.#stopped = true;
    this.#alone?.stop();
  }

  /** Whether scans are decided here. */
  get on(): boolean {
    return this.#on && this.#alone !== undefined;
  }

  get view(): AloneView {
    const alone = this.#alone;
    const cause = this.#cause;
    const mode = this.#on ? (cause === undefined ? "back" : "on") : cause === undefined ? "off" : "offered";
    return { mode, ...(cause !== undefined && { cause }), data: alone?.data ?? { kind: "none" }, unsent: alone?.unsent ?? 0, tally: alone?.tally ?? noTally };
  }

  /** A call reached the server, or why it did not. */
  network(reached: boolean, why: Cause = "network"): void {
    const cause = reached ? undefined : why;
    if (cause === this.#cause) return;
    this.#cause = cause;
    this.#around.changed();
  }

  /** A scan has waited for its answer for so long that nobody has to go on waiting. */
  slow(): void {
    if (this.#cause === undefined) this.network(false, "timeout");
  }

  hurry(): void {
    this.#alone?.hurry();
  }

  /** The controller goes on without network, or back to the server. */
  turn(on: boolean): void {
    if (on && this.view.data.kind !== "ready") return;
    this.#on = on;
    this.#around.changed();
  }

  learn(serverTime: string, sent: number): void {
    this.#alone?.learn(serverTime, sent);
  }

  /** An answer is on the screen: of this device's own, that somebody saw it; of the server's, what it let in. */
  shown(answer: Answer, key: string): void {
    if (answer.alone === undefined) void this.#alone?.let(answer, key);
    else void this.#alone?.seen(key);
  }

  /** The key of the ticket's passage that was decided here and whose answer nobody saw. */
  unseen(ticket: string, direction: "in" | "out"): string | undefined {
    return this.#alone?.unseen(ticket, direction);
  }

  judge(scan: Stored): Promise<Answer> {
    if (this.#alone === undefined) return Promise.reject(new Error("nothing is there to decide by"));
    const { key, ticket, code, direction = "in", people, phone_offline, override, scanned_at } = scan;
    const asked: Asked = { key, ticket, code, direction, scanned_at, override: override !== undefined, ...(people !== undefined && { people }), ...(phone_offline !== undefined && { phone_offline }) };
    return this.#alone.judge(asked);
  }

  ownCode(): Promise<Hold> {
    return this.#alone?.ownCode() ?? Promise.reject(new Error("nothing is there to make a code from"));
  }

  #heard(error: unknown): void {
    if (error === undefined) return this.#around.network(true);
    if (error instanceof Unreachable) return this.#around.network(false, error.why);
    if (!(error instanceof Problem)) return;
    this.#around.network(true);
    if (error.status === 401) this.#around.barred(error);
  }
}
