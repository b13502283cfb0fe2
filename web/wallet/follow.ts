// Follows what the server has to say while the page is visible: first asks, so
// that nothing is missed, then listens to the stream; where streams are cut it
// asks every five seconds.

import { Problem, Unreachable } from "../shared/api.js";
import { api, type News, type Nonces, type Standings, type VenueNonce } from "./answers.js";

/** Who hears it. Running times are those when the question was sent. */
export interface Hears {
  nonces(nonces: Nonces, sent: number): void;
  standings(standings: Standings, sent: number): Promise<void> | void;
  /** From the stream: a venue's nonce, or that its gates are closed. */
  venue(venue: VenueNonce, serverTime: string): void;
  news(news: News): void;
  reachable(reachable: boolean): void;
  /** The server does not know this browser: open a session. Rejects as calls do. */
  prove(): Promise<void>;
}

/** All in milliseconds. */
const pollEvery = 5_000;
const firstWithin = 10_000;
const nonceWithin = 18_000;
const closedFor = 60_000;
const waitingFor = 300_000;
const noStreamsFor = 60_000;
const cutLimit = 2;

/** How a stream ended: nothing ever came through it, or it worked. */
type End = "dead" | "ended";

export class Follower {
  readonly #hears: Hears;
  readonly #running: () => number;
  #turn = 0;
  #wake: (() => void) | undefined;
  #source: EventSource | undefined;
  #dead = 0;
  #noStreamsUntil = 0;

  /** `running` is a clock that only runs, in milliseconds. */
  constructor(hears: Hears, running: () => number) {
    this.#hears = hears;
    this.#running = running;
  }

  /** Starts, or starts again at once: the page is visible, or the network is back. */
  start(): void {
    this.stop();
    void this.#run(this.#turn);
  }

  stop(): void {
    this.#turn++;
    this.#source?.close();
    this.#source = undefined;
    this.#wake?.();
  }

  async #run(turn: number): Promise<void> {
    let failures = 0;
    while (turn === this.#turn) {
      const wait = await this.#ask();
      if (turn !== this.#turn) return;
      failures = wait === undefined ? 0 : failures + 1;
      if (wait !== undefined) await this.#pause(Math.max(wait, Math.min(pollEvery, 500 * 2 ** failures) * (0.7 + 0.6 * Math.random())));
      else if (this.#running() < this.#noStreamsUntil) await this.#pause(pollEvery);
      else await this.#stream(turn);
    }
  }

  /** Asks for nonces and standings; returns how long to wait at least when that failed. */
  async #ask(): Promise<number | undefined> {
    const asked = () => Promise.all([this.#nonces(), this.#standings()]);
    try {
      await asked().catch(async (error: unknown) => {
        if (!(error instanceof Problem) || error.status !== 401) throw error;
        await this.#hears.prove();
        await asked();
      });
      this.#hears.reachable(true);
      return undefined;
    } catch (error) {
      if (error instanceof Unreachable) this.#hears.reachable(false);
      if (error instanceof Problem || error instanceof Unreachable) return error.retryAfter * 1000;
      // A fault of ours is reported and must not end the following.
      reportError(error);
      return pollEvery;
    }
  }

  async #nonces(): Promise<void> {
    const sent = this.#running();
    this.#hears.nonces(await api.nonces(), sent);
  }

  async #standings(): Promise<void> {
    const sent = this.#running();
    await this.#hears.standings(await api.standings(), sent);
  }

  async #stream(turn: number): Promise<void> {
    const end = await this.#listen();
    if (turn !== this.#turn) return;
    this.#dead = end === "dead" ? this.#dead + 1 : 0;
    if (this.#dead >= cutLimit) {
      this.#dead = 0;
      this.#noStreamsUntil = this.#running() + noStreamsFor;
    }
    // Many phones lose their streams at the same moment.
    await this.#pause(200 + 1800 * Math.random());
  }

  #listen(): Promise<End> {
    return new Promise((ended) => {
      const source = new EventSource("/v1/wallet/stream");
      let heard = false;
      let timer = setTimeout(() => over(), firstWithin);
      const over = () => {
        clearTimeout(timer);
        source.close();
        if (this.#wake === over) this.#wake = undefined;
        ended(heard ? "ended" : "dead");
      };
      this.#source?.close();
      this.#source = source;
      this.#wake = over;
      const on = <T>(name: string, silentFor: number | undefined, hear: (data: T) => void) =>
        source.addEventListener(name, (event: MessageEvent<string>) => {
          heard = true;
          if (silentFor !== undefined) {
            clearTimeout(timer);
            timer = setTimeout(over, silentFor);
          }
          hear(JSON.parse(event.data) as T);
        });
      on<VenueNonce & { server_time: string }>("nonce", nonceWithin, (data) => this.#hears.venue({ ...data, open: true }, data.server_time));
      on<VenueNonce & { server_time: string }>("closed", closedFor, (data) => this.#hears.venue({ ...data, open: false }, data.server_time));
      on<unknown>("waiting", waitingFor, () => undefined);
      on<News>("ticket", undefined, (data) => this.#hears.news(data));
      on<unknown>("refresh", undefined, over);
      source.addEventListener("error", over);
    });
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((done) => {
      const end = () => {
        clearTimeout(timer);
        if (this.#wake === end) this.#wake = undefined;
        done();
      };
      const timer = setTimeout(end, milliseconds);
      this.#wake = end;
    });
  }
}
