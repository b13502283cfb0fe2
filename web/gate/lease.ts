// The gate's lease: held while the page is visible, given back when it is not,
// renewed before anything else when it is again. It knows no page and no HTTP.

import { Problem, type Cause } from "../shared/api.js";
import type { Hold } from "./answers.js";
import { causeOf, type Wait } from "./outbox.js";

/** How the lease stands. `lost`: the server has not answered for longer than the lease lives. */
export type LeaseState = "none" | "taking" | "held" | "lost" | "closed";

export interface LeaseCalls {
  hold(): Promise<Hold>;
  renew(lease: string): Promise<Hold>;
  close(lease: string): Promise<void>;
  /** Sends and asks for nothing: the page may be on its way out. */
  release(lease: string): void;
}

/** What the lease needs from around it. */
export interface LeaseSurroundings extends LeaseCalls {
  wait: Wait;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  changed(state: LeaseState): void;
  network(reached: boolean, why?: Cause): void;
  barred(problem: Problem): void;
}

/** Milliseconds between renewals, before another try, and that a lease lives. */
const every = 5_000;
const retry = 2_000;
const lives = 15_000;

export class Lease {
  readonly #around: LeaseSurroundings;
  #id: string | undefined;
  #state: LeaseState = "none";
  #lastHeld = 0;
  #visible = false;
  #turn = 0;
  #stopWaiting: () => void = () => undefined;

  constructor(around: LeaseSurroundings) {
    this.#around = around;
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** The page works and is visible: renews what there was, else holds anew. Resolves when that was tried. */
  async show(): Promise<void> {
    if (this.#visible) return;
    this.#visible = true;
    if (this.#state === "closed" && this.#id === undefined) return;
    await this.#go();
  }

  /** The page is hidden, left, or signed off: gives the lease back at once. */
  hide(): void {
    if (!this.#visible) return;
    this.#visible = false;
    this.#turn++;
    this.#stopWaiting();
    if (this.#state === "closed") return;
    if (this.#id !== undefined) this.#around.release(this.#id);
    this.#to("none");
  }

  /** Opens the gate anew after it was closed. */
  async open(): Promise<void> {
    this.#id = undefined;
    this.#visible = true;
    await this.#go();
  }

  /** Closes the gate for everybody; rejects when the server did not say yes. */
  async close(): Promise<void> {
    if (this.#id === undefined) throw new Error("there is no lease to close the gate with");
    await this.#around.close(this.#id);
    this.#closed();
  }

  /** Tries at once instead of after the wait. */
  async hurry(): Promise<void> {
    if (this.#visible && this.#state !== "closed") await this.#go();
  }

  async #go(): Promise<void> {
    this.#stopWaiting();
    const turn = ++this.#turn;
    if (this.#state !== "held") this.#to("taking");
    try {
      const hold = await this.#renewOrHold();
      this.#around.network(true);
      if (turn !== this.#turn) return this.#late(hold);
      this.#id = hold.lease ?? this.#id;
      this.#lastHeld = this.#around.now();
      this.#to("held");
      this.#again(every);
    } catch (error) {
      if (turn === this.#turn) this.#failed(error);
    }
  }

  async #renewOrHold(): Promise<Hold> {
    if (this.#id === undefined) return this.#around.hold();
    try {
      return await this.#around.renew(this.#id);
    } catch (error) {
      if (!(error instanceof Problem) || (error.status !== 410 && error.status !== 404)) throw error;
      this.#id = undefined;
      return this.#around.hold();
    }
  }

  // The page went away while the server answered, or asked once more: nobody
  // wants this lease.
  #late(hold: Hold): void {
    if (hold.lease !== undefined && hold.lease !== this.#id) this.#around.release(hold.lease);
  }

  #failed(error: unknown): void {
    if (error instanceof Problem && error.code === "nonce.gate_closed") return this.#closed();
    if (error instanceof Problem && error.status < 500 && error.status !== 429) {
      this.#around.network(true);
      this.#around.barred(error);
      this.#to("lost");
      return this.#again(every);
    }
    this.#around.network(error instanceof Problem, causeOf(error));
    if (this.#around.now() - this.#lastHeld >= lives) this.#to("lost");
    this.#again(retry);
  }

  #closed(): void {
    this.#turn++;
    this.#stopWaiting();
    this.#id = undefined;
    this.#to("closed");
  }

  #again(after: number): void {
    this.#stopWaiting = this.#around.wait(after, () => void this.#go());
  }

  #to(state: LeaseState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#around.changed(state);
  }
}
