// The number that an issue form shows: kept under a lease while the form is open,
// renewed while it can be seen and at once when it can be seen again, given back
// however the form is left. It knows no page and no HTTP.

import { Problem } from "../shared/api.js";

/** A number under a lease. */
export interface Kept {
  readonly lease: string;
  readonly number: number;
}

export interface NumberCalls {
  reserve(event: string): Promise<Kept>;
  renew(lease: string): Promise<Kept>;
  /** Sends and asks for nothing: the page may be on its way out. */
  release(lease: string): void;
}

/** What the numbering needs from around it. */
export interface NumberSurroundings extends NumberCalls {
  /** Calls after so many milliseconds, unless what it gives is called before. */
  wait(milliseconds: number, then: () => void): () => void;
  /** Whether nobody sees the page. */
  hidden(): boolean;
  /** Another lease, or none. */
  changed(kept: Kept | undefined): void;
}

/** Milliseconds between renewals, and before another try. */
const every = 5_000;
const retry = 2_000;

export class Numbering {
  readonly #around: NumberSurroundings;
  #event: string | undefined;
  #busy = false;
  #kept: Kept | undefined;
  #turn = 0;
  #stopWaiting: () => void = () => undefined;

  constructor(around: NumberSurroundings) {
    this.#around = around;
  }

  /**
   * Follows what is shown: the form of an event, or none. While an order is under
   * way nothing is renewed: a lease that is being spent would count as lost.
   */
  follow(event: string | undefined, busy: boolean): void {
    if (event !== this.#event) {
      this.#end();
      this.#event = event;
      this.#busy = busy;
      if (event !== undefined && !busy) void this.#go();
    } else if (busy !== this.#busy) {
      this.#busy = busy;
      if (busy) this.#rest();
      else if (event !== undefined) void this.#go();
    }
  }

  /** The page can be seen again. */
  seen(): void {
    if (this.#event !== undefined && !this.#busy) void this.#go();
  }

  /** The page is left, and may come back as it is. */
  left(): void {
    this.#end();
  }

  /** The server gave another lease in place of a lost one. */
  adopt(kept: Kept): void {
    this.#to(kept);
  }

  async #go(): Promise<void> {
    this.#rest();
    const turn = this.#turn;
    const event = this.#event;
    if (event === undefined) return;
    try {
      const kept = await this.#renewOrReserve(event);
      if (turn !== this.#turn) return this.#late(kept);
      this.#to(kept);
      this.#again(every);
    } catch (error) {
      if (turn === this.#turn) this.#failed(error);
    }
  }

  async #renewOrReserve(event: string): Promise<Kept> {
    if (this.#kept === undefined) return this.#around.reserve(event);
    try {
      return await this.#around.renew(this.#kept.lease);
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 410) throw error;
      return this.#around.reserve(event);
    }
  }

  // The form was left while the server answered: nobody wants this number.
  #late(kept: Kept): void {
    if (kept.lease !== this.#kept?.lease) this.#around.release(kept.lease);
  }

  // Who may not, or has to sign in again, hears of it when the order is sent.
  #failed(error: unknown): void {
    if (error instanceof Problem && error.status < 500 && error.status !== 429) this.#to(undefined);
    else this.#again(retry);
  }

  // A page that nobody sees renews nothing: its number is free for others soon.
  #again(after: number): void {
    this.#stopWaiting = this.#around.wait(after, () => (this.#around.hidden() ? this.#again(after) : void this.#go()));
  }

  #rest(): void {
    this.#turn++;
    this.#stopWaiting();
    this.#stopWaiting = () => undefined;
  }

  #end(): void {
    this.#rest();
    if (this.#kept !== undefined) this.#around.release(this.#kept.lease);
    this.#kept = undefined;
  }

  #to(kept: Kept | undefined): void {
    const same = kept?.lease === this.#kept?.lease;
    this.#kept = kept;
    if (!same) this.#around.changed(kept);
  }
}
