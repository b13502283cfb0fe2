// The server's time on a phone whose clock may be wrong, or be set while the
// page is open: learned from answers, carried on by a clock that cannot be set.

/** Where a clock reads, in milliseconds: one that only runs, and the phone's own, which can be set. */
export interface Sources {
  running(): number;
  phone(): number;
}

const browser: Sources = { running: () => performance.now(), phone: () => Date.now() };

/** A reading stays the best one for so long, however exact it was. */
const trusted = 10 * 60_000;

/** Estimates the server's time. */
export class Clock {
  readonly #sources: Sources;
  #server: number;
  #running: number;
  #phone: number;
  #doubt = Infinity;
  #read = -Infinity;

  /** `offset` is server minus phone in milliseconds, as an earlier visit learned it. */
  constructor(offset = 0, sources: Sources = browser) {
    this.#sources = sources;
    this.#running = sources.running();
    this.#phone = sources.phone();
    this.#server = this.#phone + offset;
  }

  /** Now, in milliseconds since 1970 by the server. */
  now(): number {
    return this.#server + this.#sources.running() - this.#running;
  }

  /** Milliseconds by the clock that only runs; for ages. */
  running(): number {
    return this.#sources.running();
  }

  /** Server minus phone, to be kept for the next visit. */
  offset(): number {
    return this.now() - this.#sources.phone();
  }

  /** Learns from an answer to a question sent at `sent` (running time): its time is somewhere between. */
  learn(serverTime: string, sent: number): void {
    const read = this.#sources.running();
    const doubt = (read - sent) / 2;
    const server = Date.parse(serverTime) + doubt;
    const off = Math.abs(server - this.now());
    if (Number.isNaN(server)) return;
    if (doubt > this.#doubt && off <= doubt + this.#doubt && read - this.#read < trusted) return;
    this.#set(server);
    this.#doubt = doubt;
    this.#read = read;
  }

  /** Learns from news that lay an unknown time on their way: it is at least so late. */
  atLeast(serverTime: string): void {
    const server = Date.parse(serverTime);
    if (server > this.now()) this.#set(server);
  }

  /** After the page was hidden: the running clock may have slept with the phone, its own has not. */
  woke(): void {
    const slept = this.#sources.phone() - this.#phone - (this.#sources.running() - this.#running);
    if (slept > 0) this.#set(this.now() + slept);
    else this.#set(this.now());
    this.#doubt = Infinity;
  }

  /** Before the page is hidden: what the phone's clock was set to until now does not count. */
  rest(): void {
    this.#set(this.now());
  }

  #set(server: number): void {
    this.#server = server;
    this.#running = this.#sources.running();
    this.#phone = this.#sources.phone();
  }
}
