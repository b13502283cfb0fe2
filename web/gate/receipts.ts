// Receipts: that an answer was on this screen. Where an event takes lost answers
// back, an admission without one does not count against its guest, so each is
// stored before it is sent and sent until the server has it. Like the outbox it
// knows neither the page nor HTTP.

import { Problem } from "../shared/api.js";
import { backOff, isBarred, type Wait } from "./outbox.js";

/** An admission whose answer was shown. */
export interface Receipt {
  readonly ticket: string;
  readonly key: string;
}

/** How many go in one call. */
const most = 100;

/** What receipts need from around them. */
export interface ReceiptSurroundings {
  send(receipts: readonly Receipt[]): Promise<unknown>;
  put(receipt: Receipt): Promise<void>;
  delete(key: string): Promise<void>;
  wait: Wait;
}

export class Receipts {
  readonly #around: ReceiptSurroundings;
  readonly #waiting = new Map<string, Receipt>();
  #tries = 0;
  #flying = false;
  #stopped = false;
  #stopWaiting: () => void = () => undefined;

  constructor(around: ReceiptSurroundings) {
    this.#around = around;
  }

  /** Takes up what an earlier page left behind. */
  resume(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) this.#waiting.set(receipt.key, receipt);
    void this.#send();
  }

  /** The answer is on the screen. */
  async shown(receipt: Receipt): Promise<void> {
    this.#waiting.set(receipt.key, receipt);
    await this.#around.put(receipt);
    void this.#send();
  }

  /** The network is back, or somebody signed on. */
  hurry(): void {
    this.#stopWaiting();
    void this.#send();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopWaiting();
  }

  async #send(): Promise<void> {
    if (this.#flying || this.#stopped || this.#waiting.size === 0) return;
    const batch = [...this.#waiting.values()].slice(0, most);
    this.#flying = true;
    this.#tries++;
    try {
      await this.#around.send(batch);
      await this.#over(batch);
    } catch (error) {
      // What the server will never take (the device belongs to another house now) must not go round for ever.
      const refused = error instanceof Problem && error.status < 500 && error.status !== 429 && !isBarred(error);
      if (refused) await this.#over(batch);
      else return this.#later();
    } finally {
      this.#flying = false;
    }
    void this.#send();
  }

  async #over(batch: readonly Receipt[]): Promise<void> {
    this.#tries = 0;
    for (const { key } of batch) {
      this.#waiting.delete(key);
      await this.#around.delete(key);
    }
  }

  #later(): void {
    this.#stopWaiting();
    if (!this.#stopped) this.#stopWaiting = this.#around.wait(backOff(this.#tries, Math.random()), () => void this.#send());
  }
}
