// The tickets of this phone at the door: which one lies on top, what its card
// shows, and the code that it needs at this moment.

import { Awake } from "./awake.js";
import { api, type Admitted, type News, type Nonces, type Standings, type VenueNonce } from "./answers.js";
import type { Clock } from "./clock.js";
import { Follower, type Hears } from "./follow.js";
import { choose, Feeds, gateLasts, left, type Fresh, type GateNonce } from "./freshness.js";
import { Lapsing } from "./lapsing.js";
import { Own } from "./own.js";
import { codeOf, Rotation } from "./rotation.js";
import { leavesOut, merge, openSession, toFollow } from "./session.js";
import { Shorts } from "./short.js";
import { faceKind, firstOf, nextOf, remaining } from "./stack.js";
import type { Face, Notice, TicketState } from "./state.js";
import type { Held, Store } from "./store.js";

/** All in milliseconds. How long a welcome stays: when another ticket waits, when this one may be shown again, and else. */
const welcomeFor = { more: 3_000, again: 5_000, last: 60_000 };
const noticeFor = 90_000;
/** News of an admission that is older is no welcome any more. */
const welcomeWithin = 60_000;
/** A page that has just come into view waits so long for a nonce before it falls back to the time; one that is just being loaded until so long after it was opened. */
const patience = 500;
const firstPatience = 900;

/** The part of the store that is written here. */
export type Keeps = Pick<Store, "keep" | "keepOffset">;

export class Show implements Hears {
  readonly #store: Keeps;
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #follower = new Follower(this, () => this.#clock.running());
  readonly #rotation: Rotation;
  readonly #awake = new Awake();
  readonly #feeds = new Feeds();
  readonly #welcomes = new Lapsing<Admitted>();
  readonly #notices = new Lapsing<Notice>();
  readonly #early = new Set<string>();
  readonly #shorts: Shorts;
  readonly #own: Own;
  #held: readonly Held[] = [];
  #at = 0;
  #gate: GateNonce | undefined;
  #reachable = true;
  #patientUntil = 0;
  #proved = false;
  #told = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `changed` is called whenever state() gives something else. */
  constructor(store: Keeps, clock: Clock, changed: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#changed = changed;
    this.#rotation = new Rotation(() => clock.running(), () => this.#changed());
    this.#shorts = new Shorts(clock, () => this.#tick());
    this.#own = new Own(clock, (ticket, oneTime) => this.#keepOneTime(ticket, oneTime), () => this.#tick());
  }

  get held(): readonly Held[] {
    return this.#held;
  }

  /** Takes these tickets; the first of `front`, if any, lies on top. */
  take(held: readonly Held[], front: readonly string[] = []): void {
    this.#held = held;
    const place = held.findIndex((ticket) => front.includes(ticket.ticket) && ticket.state === "active");
    this.#at = place >= 0 ? place : firstOf(held, this.#clock.now());
    this.#proved = false;
  }

  /** The page is visible and shows tickets. */
  resume(): void {
    this.#patientUntil = Math.max(this.#clock.running() + patience, firstPatience);
    this.#reachable = navigator.onLine;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#tick(), 1000);
    setTimeout(() => this.#tick(), this.#patientUntil - this.#clock.running() + 5);
    if (toFollow(this.#held, this.#clock.now()).length > 0) this.#follower.start();
    else if (!this.#told) void this.#askTime();
    this.#awake.touch();
    this.#tick();
  }

  /** The page is hidden, or shows something else. */
  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#follower.stop();
    this.#rotation.rest();
    this.#awake.want(false);
  }

  /** The network is said to be gone: what was heard counts on until it is too old, and asking shows what is true. */
  doubt(): void {
    this.#reachable = false;
    if (toFollow(this.#held, this.#clock.now()).length > 0) this.#follower.start();
    this.#tick();
  }

  /** Before the page is hidden, and when it is back: the clock that only runs may stand still meanwhile. */
  sleep(): void {
    this.#clock.rest();
  }

  woke(): void {
    this.#clock.woke();
  }

  /** Somebody touched the page. */
  touch(): void {
    this.#awake.touch();
  }

  /** Another ticket on top. */
  turn(by: 1 | -1): void {
    this.#at = (this.#at + by + this.#held.length) % this.#held.length;
    this.#tick();
  }

  /** Shows the code although the doors should not be open yet: the phone's clock may be wrong, or the gate early. */
  showEarly(): void {
    const top = this.#held[this.#at];
    if (top !== undefined) this.#early.add(top.ticket);
    this.#tick();
  }

  /** Asks for digits that stand for the live code of the ticket on top; without one the phone makes some itself. */
  async shortCode(): Promise<void> {
    const top = this.#held[this.#at];
    if (top === undefined) return;
    if (this.#rotation.shown(top.ticket)?.fresh.kind !== "pushed") return this.#own.ask(top);
    void this.#own.prepare(top); // for when there is no network
    await this.#shorts.ask(top.ticket, () => this.#live(top), () => this.#renew());
  }

  #keepOneTime({ ticket, generation }: Held, oneTime: CryptoKey): void {
    this.#held = this.#held.map((held) => (held.ticket === ticket && held.generation === generation ? { ...held, oneTime } : held));
    void this.#store.keep(this.#held).catch(() => undefined);
  }

  /** The code over the venue's newest nonce, whatever the card shows. */
  async #live(ticket: Held): Promise<string> {
    const fresh = this.#choose(ticket, undefined);
    if (fresh.kind !== "pushed") throw new Error("there is no nonce of the venue");
    return codeOf(ticket, fresh, this.#clock.now());
  }

  async #renew(): Promise<void> {
    const sent = this.#clock.running();
    this.nonces(await api.nonces(), sent);
  }

  /** The camera read a gate's code: every ticket here answers that gate for a while. */
  answer(nonce: string, acceptedFor: number): void {
    const read = this.#clock.running();
    this.#gate = { nonce, read, until: read + gateLasts(acceptedFor) };
  }

  /** What to draw; undefined without tickets. */
  state(): TicketState | undefined {
    const top = this.#held[this.#at];
    if (top === undefined) return undefined;
    const { key: _key, link: _link, oneTime: _oneTime, ...ticket } = top;
    return {
      kind: "tickets",
      ticket,
      position: this.#at + 1,
      count: this.#held.length,
      face: this.#face(top),
      notice: this.#notices.get(top.ticket, this.#clock.running()),
      now: this.#clock.now(),
    };
  }

  #face(top: Held): Face {
    const now = this.#clock.now();
    const welcome = this.#welcomes.get(top.ticket, this.#clock.running());
    const kind = faceKind(top, now, welcome, this.#early.has(top.ticket));
    if (kind === "welcome" && welcome !== undefined) {
      return { kind, ...welcome, remaining: top.state === "active" ? remaining(top) : 0, more: nextOf(this.#held, this.#at, now) !== undefined };
    }
    if (kind !== "code") return { kind } as Face;
    const shown = this.#rotation.shown(top.ticket);
    const short = this.#shorts.of(top.ticket, shown?.fresh.kind === "pushed") ?? (shown?.fresh.kind === "timed" ? this.#own.of(top, this.#reachable) : undefined);
    if (shown === undefined) return { kind, source: undefined, why: undefined, symbol: undefined, left: 0, short };
    const { fresh, symbol } = shown;
    return { kind, source: fresh.kind, why: fresh.kind === "timed" ? fresh.why : undefined, symbol, left: left(fresh, now), short };
  }

  #tick(): void {
    if (this.#timer === undefined) return;
    this.#leaveWelcome();
    const top = this.#held[this.#at];
    const face = top && this.#face(top);
    if (top !== undefined && face?.kind === "code") this.#want(top);
    else this.#rotation.rest();
    this.#awake.want(face?.kind === "code");
    this.#changed();
  }

  #want(top: Held): void {
    const fresh = this.#choose(top, this.#gate);
    const early = fresh.kind === "timed" && this.#reachable && this.#clock.running() < this.#patientUntil;
    if (!early) this.#rotation.want(top, fresh, () => this.#clock.now());
  }

  #choose(top: Held, gate: GateNonce | undefined): Fresh {
    return choose({ gate, feed: this.#feeds.of(top.event.venue), reachable: this.#reachable, now: this.#clock.now(), running: this.#clock.running() });
  }

  /** A welcome that is over makes room for the next ticket of the stack. */
  #leaveWelcome(): void {
    const top = this.#held[this.#at];
    if (top === undefined || !this.#welcomes.lapsed(top.ticket, this.#clock.running())) return;
    const next = remaining(top) > 0 && top.state === "active" ? undefined : nextOf(this.#held, this.#at, this.#clock.now());
    if (next !== undefined) this.#at = next;
  }

  // What the server says.

  nonces(nonces: Nonces, sent: number): void {
    this.#learn(nonces.server_time, sent);
    this.#feeds.all(nonces.venues, this.#clock.now(), this.#clock.running());
    this.#patientUntil = 0;
    this.#tick();
  }

  #learn(serverTime: string, sent: number): void {
    this.#told = true;
    this.#clock.learn(serverTime, sent);
    void this.#store.keepOffset(this.#clock.offset()).catch(() => undefined);
  }

  /** By a clock that was set since the last visit every event may be over: the server knows. */
  async #askTime(): Promise<void> {
    const sent = this.#clock.running();
    const answer = await api.challenge().catch(() => undefined);
    if (answer === undefined) return; // without an answer it is asked when the page comes into view again
    this.#learn(answer.server_time, sent);
    if (this.#timer === undefined || toFollow(this.#held, this.#clock.now()).length === 0) return;
    this.#at = firstOf(this.#held, this.#clock.now());
    this.#follower.start();
    this.#tick();
  }

  venue(venue: VenueNonce, serverTime: string): void {
    this.#clock.atLeast(serverTime);
    this.#feeds.one(venue, this.#clock.now(), this.#clock.running());
    this.#tick();
  }

  async standings(standings: Standings, sent: number): Promise<void> {
    this.#clock.learn(standings.server_time, sent);
    this.#stand(standings);
    if (!this.#proved && leavesOut(this.#held, standings, this.#clock.now())) await this.prove();
  }

  #stand(standings: Standings): void {
    const before = this.#held;
    this.#held = merge(before, standings);
    for (const [i, ticket] of this.#held.entries()) {
      const old = before[i];
      if (ticket.admitted !== undefined && old !== undefined && ticket.entries > old.entries) this.#welcome(ticket, ticket.admitted);
      if (old !== undefined && ticket.entries !== old.entries) this.#spent(ticket.ticket);
      if (ticket.state === "active" && ticket.entries === 0) this.#welcomes.delete(ticket.ticket);
    }
    if (JSON.stringify(before) !== JSON.stringify(this.#held)) void this.#store.keep(this.#held).catch(() => undefined);
    if (toFollow(this.#held, this.#clock.now()).length === 0) this.#follower.stop();
    this.#tick();
  }

  reachable(reachable: boolean): void {
    this.#reachable = reachable;
    this.#tick();
  }

  async prove(): Promise<void> {
    this.#proved = true;
    const standings = await openSession(this.#held, this.#clock.now());
    if (standings !== undefined) this.#stand(standings);
  }

  news(news: News): void {
    const held = this.#held.find((ticket) => ticket.ticket === news.ticket);
    if (held === undefined) return;
    switch (news.what) {
      case "admitted":
        this.#notices.delete(news.ticket);
        this.#spent(news.ticket);
        this.#change({ ...held, entries: held.entries + 1, ...(held.admits === 1 && { state: "used" }) });
        this.#welcome(held, { at: news.at ?? new Date(this.#clock.now()).toISOString(), gate: news.gate ?? "" });
        break;
      case "wrong_gate":
        return this.#note(news.ticket, { kind: "wrong_gate", gates: news.gates ?? [] });
      case "undone":
      case "left":
        this.#welcomes.delete(news.ticket);
        this.#note(news.ticket, { kind: news.what });
        break;
      case "moved":
      case "held":
      case "revoked":
        this.#change({ ...held, state: news.what });
        break;
      case "released":
        break;
    }
    void this.#refresh();
  }

  /** The ticket was used: whatever digits there are may be spent. */
  #spent(ticket: string): void {
    this.#shorts.forget(ticket);
    this.#own.forget(ticket);
  }

  #note(ticket: string, notice: Notice): void {
    this.#notices.set(ticket, notice, this.#clock.running() + noticeFor);
    this.#tick();
  }

  #change(changed: Held): void {
    this.#held = this.#held.map((ticket) => (ticket.ticket === changed.ticket ? changed : ticket));
    this.#tick();
  }

  /** The stream's news are the quick part; how the tickets stand is asked. */
  async #refresh(): Promise<void> {
    const sent = this.#clock.running();
    try {
      await this.standings(await api.standings(), sent);
    } catch {
      // The follower asks again by itself.
    }
  }

  #welcome(ticket: Held, admitted: Admitted): void {
    const running = this.#clock.running();
    if (this.#welcomes.get(ticket.ticket, running) !== undefined) return;
    if (this.#clock.now() - Date.parse(admitted.at) > welcomeWithin) return;
    this.#at = Math.max(0, this.#held.findIndex((held) => held.ticket === ticket.ticket));
    const more = nextOf(this.#held, this.#at, this.#clock.now()) !== undefined;
    const lasts = more ? welcomeFor.more : ticket.admits > 1 ? welcomeFor.again : welcomeFor.last;
    this.#welcomes.set(ticket.ticket, { at: admitted.at, gate: admitted.gate }, running + lasts);
    this.#tick();
  }
}
