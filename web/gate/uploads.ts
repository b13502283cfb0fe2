// Scans that this device decided alone, on their way to the server. Each was stored
// before its answer was shown and stays until the server has given its verdict on
// it; one that fails does not hold up those behind it. Like the outbox it knows
// neither the page nor HTTP.

import { Problem, Unreachable } from "../shared/api.js";
import { backOff, type Wait } from "./outbox.js";

/** A scan as the server is told of it: its times are the device's own, uncorrected. */
export interface BatchScan {
  readonly key: string;
  readonly gate: string;
  readonly event: string | null;
  readonly code: string;
  readonly direction: "in" | "out";
  readonly people: number;
  readonly verdict: "admitted" | "refused";
  readonly reason: string;
  readonly scanned_at: string;
  readonly phone_offline: boolean;
  readonly person: string;
  /** The serial of the pack that it was decided by. */
  readonly pack: string;
}

/** A scan as it waits. One key may have been refused and let in after that: both are told. */
export interface Upload {
  readonly id: string;
  /** Whose queue it is in. */
  readonly device: string;
  readonly scan: BatchScan;
  /** How often the server could not judge it. */
  readonly tries: number;
}

/** The server's word on one scan. Only `retry` is not its last. */
export interface BatchVerdict {
  readonly key: string;
  readonly verdict: "recorded" | "double_admission" | "quarantined" | "refused" | "retry";
  readonly replayed: boolean;
  readonly reason?: string;
}

/** POST /v1/scans/batch. */
export interface Batch {
  readonly received_at: string;
  readonly verdicts: readonly BatchVerdict[];
}

/** How many scans have each verdict. */
export type Tally = Readonly<Record<"recorded" | "double_admission" | "quarantined" | "refused", number>>;

export const noTally: Tally = { recorded: 0, double_admission: 0, quarantined: 0, refused: 0 };

export interface UploadSurroundings {
  /** Sends as many; their order is the answer's. */
  send(scans: readonly BatchScan[]): Promise<Batch>;
  /** Keeps what became of them before anything else is sent. */
  settled(over: readonly { upload: Upload; verdict: BatchVerdict }[], waiting: readonly Upload[]): Promise<void>;
  wait: Wait;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  changed(): void;
}

/** How many go in one call at most. */
const most = 200;

/** After so many failures of its own a scan is tried once an hour only. */
const often = 8;
const hourly = 3_600_000;

/** So many calls in a row may fail before there is a pause. */
const patient = 4;

interface Waiting {
  readonly upload: Upload;
  /** When it may go again. */
  from: number;
}

export class Uploads {
  readonly #around: UploadSurroundings;
  readonly #waiting = new Map<string, Waiting>();
  #tally = noTally;
  #size = most;
  #failures = 0;
  #flying = false;
  #stopped = false;
  #stopWaiting: () => void = () => undefined;

  constructor(around: UploadSurroundings) {
    this.#around = around;
  }

  get unsent(): number {
    return this.#waiting.size;
  }

  get tally(): Tally {
    return this.#tally;
  }

  /** Takes up what an earlier page left behind. */
  resume(uploads: readonly Upload[]): void {
    for (const upload of uploads) this.#waiting.set(upload.id, { upload, from: 0 });
    void this.#send();
  }

  /** Takes a scan that was stored. */
  add(upload: Upload): void {
    this.#waiting.set(upload.id, { upload, from: 0 });
    this.#around.changed();
    void this.#send();
  }

  /** The network is back: all may go at once. */
  hurry(): void {
    for (const one of this.#waiting.values()) if (one.upload.tries <= often) one.from = 0;
    this.#stopWaiting();
    void this.#send();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopWaiting();
  }

  async #send(): Promise<void> {
    if (this.#flying || this.#stopped) return;
    const now = this.#around.now();
    const batch = [...this.#waiting.values()]
      .filter(({ from }) => from <= now)
      .slice(0, this.#size)
      .map(({ upload }) => upload);
    if (batch.length === 0) return this.#later(0);
    this.#flying = true;
    try {
      const { verdicts } = await this.#around.send(batch.map(({ scan }) => scan));
      // An answer that does not fit is no verdict on anything.
      if (!fits(batch, verdicts)) throw new Unreachable("not_ours");
      this.#failures = 0;
      this.#size = Math.min(most, this.#size * 2);
      await this.#judged(batch, verdicts);
    } catch (error) {
      this.#flying = false;
      return this.#failed(batch, error);
    }
    this.#flying = false;
    void this.#send();
  }

  async #judged(batch: readonly Upload[], verdicts: readonly BatchVerdict[]): Promise<void> {
    const over: { upload: Upload; verdict: BatchVerdict }[] = [];
    const again: Upload[] = [];
    for (const [i, upload] of batch.entries()) {
      const verdict = verdicts[i];
      if (verdict === undefined || verdict.verdict === "retry") again.push(this.#again(upload));
      else over.push({ upload, verdict });
    }
    await this.#around.settled(over, again);
    for (const { upload, verdict } of over) {
      this.#waiting.delete(upload.id);
      if (verdict.verdict !== "retry") this.#tally = { ...this.#tally, [verdict.verdict]: this.#tally[verdict.verdict] + 1 };
    }
    this.#around.changed();
  }

  /** It could not be judged: later once more, behind the others. */
  #again(upload: Upload): Upload {
    const next = { ...upload, tries: upload.tries + 1 };
    const pause = next.tries > often ? hourly : backOff(next.tries, Math.random());
    this.#waiting.delete(upload.id);
    this.#waiting.set(upload.id, { upload: next, from: this.#around.now() + pause });
    return next;
  }

  #failed(batch: readonly Upload[], error: unknown): void {
    if (this.#stopped) return;
    const problem = error instanceof Problem && error.status !== 401 && error.status !== 403 && error.status !== 429 ? error : undefined;
    // The server chokes on something in it: smaller ones find out on what.
    if (problem !== undefined && batch.length > 1) {
      this.#size = Math.ceil(batch.length / 2);
      return void this.#send();
    }
    const [only] = batch;
    const own = problem !== undefined && only !== undefined;
    if (own) {
      void this.#around.settled([], [this.#again(only)]);
      this.#around.changed();
    }
    // Several in a row are not the scans' fault.
    if (++this.#failures < patient && own) return void this.#send();
    const asked = error instanceof Problem || error instanceof Unreachable ? error.retryAfter * 1000 : 0;
    this.#later(Math.max(asked, backOff(this.#failures, Math.random())));
  }

  /** Tries again after a pause, or when the first of those that wait may go. */
  #later(pause: number): void {
    this.#stopWaiting();
    if (this.#waiting.size === 0 || this.#stopped) return;
    const first = Math.min(...[...this.#waiting.values()].map(({ from }) => from)) - this.#around.now();
    this.#stopWaiting = this.#around.wait(Math.max(pause, first, 0), () => void this.#send());
  }
}

/** Whether each verdict is that of the scan in its place; one that the server could not read has no key. */
function fits(batch: readonly Upload[], verdicts: readonly BatchVerdict[]): boolean {
  return Array.isArray(verdicts) && verdicts.length === batch.length && batch.every(({ scan }, i) => [scan.key, ""].includes(verdicts[i]?.key ?? "another"));
}
