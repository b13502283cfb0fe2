// The queues of devices that this browser no longer is. A device that the desk
// revoked loses its pack and its place, but what it let in without network is still
// told: its credential opens nothing any more and is kept until that is done.

import type { AloneStore } from "./alonestore.js";
import { Calls } from "./calls.js";
import type { Wait } from "./outbox.js";
import type { Paired } from "./store.js";
import { Uploads } from "./uploads.js";

export class Former {
  readonly #store: AloneStore;
  readonly #wait: Wait;
  readonly #changed: () => void;
  readonly #queues = new Map<string, Uploads>();

  constructor(store: AloneStore, wait: Wait, changed: () => void) {
    this.#store = store;
    this.#wait = wait;
    this.#changed = changed;
  }

  /** How many scans wait to be handed in. */
  get unsent(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.unsent, 0);
  }

  /** Takes up what earlier pages left. */
  async begin(): Promise<void> {
    for (const [device, token] of Object.entries(await this.#store.former())) await this.#take(device, token);
  }

  /** This browser is this device no longer: its pack goes, its queue is handed in. */
  async left({ device, token }: Paired): Promise<void> {
    await this.#store.wipe();
    await this.#store.setFormer({ ...(await this.#store.former()), [device]: token });
    await this.#take(device, token);
  }

  hurry(): void {
    for (const queue of this.#queues.values()) queue.hurry();
  }

  async #take(device: string, token: string): Promise<void> {
    const uploads = (await this.#store.uploads()).filter((upload) => upload.device === device);
    if (uploads.length === 0) return this.#over(device);
    const calls = new Calls(token);
    const queue = new Uploads({
      send: (scans) => calls.batch(scans),
      settled: (over, waiting) => this.#store.settle(over.map(({ upload }) => upload.id), [], waiting),
      wait: this.#wait,
      now: () => performance.now(),
      changed: () => {
        this.#changed();
        if (queue.unsent === 0) void this.#over(device);
      },
    });
    this.#queues.set(device, queue);
    queue.resume(uploads);
    this.#changed();
  }

  async #over(device: string): Promise<void> {
    const { [device]: _, ...others } = await this.#store.former();
    await this.#store.setFormer(others);
  }
}
