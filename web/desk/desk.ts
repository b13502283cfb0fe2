// The desk at work: it holds the one state, follows the addresses, carries the
// forms out and shows what comes of it.

import type { Key } from "../shared/messages.js";
import * as calls from "./calls.js";
import type { Me } from "./answers.js";
import { keepCounting, pause } from "./counting.js";
import { Drawing } from "./drawing.js";
import { at, enter, load, maybeSignedIn, rememberSession } from "./loading.js";
import { Numbering, type Kept } from "./numbering.js";
import { missing } from "./orders.js";
import type { Phrases } from "./phrases.js";
import { chooseMails, keepReading } from "./posting.js";
import { followPairing, press } from "./pressing.js";
import { parse, secretOf } from "./route.js";
import { form, withForm, type Acts, type Form, type House, type State } from "./state.js";
import { lost, refused, submit, type Step } from "./submitting.js";

/** Milliseconds without a key before a search is made. */
const typingRests = 250;

/** What a server would say of no one. */
const nobody = { ...missing([]), code: "session.required", status: 401 };

export class Desk implements Acts {
  readonly #p: Phrases;
  readonly #drawing: Drawing;
  #state: State = { kind: "loading", forms: {} };
  #secret = "";
  #house: House | undefined;
  /** Orders that were not sent, by their event: a slip of the hand costs nobody what was typed, and the key that was perhaps carried out stays. */
  readonly #drafts = new Map<string, Form>();
  readonly #numbering: Numbering;
  /** Ends whatever goes on for the view that is shown: counting, polling, searching. */
  #visit = new AbortController();
  #search = new AbortController();

  constructor(root: HTMLElement, p: Phrases) {
    this.#p = p;
    this.#drawing = new Drawing(root, p, this);
    this.#numbering = new Numbering({
      reserve: calls.reserveNumber,
      renew: calls.renewNumber,
      release: calls.releaseNumber,
      wait: (milliseconds, then) => {
        const timer = setTimeout(then, milliseconds);
        return () => clearTimeout(timer);
      },
      hidden: () => document.hidden,
      changed: (kept) => this.#number(kept),
    });
  }

  get state(): State {
    return this.#state;
  }

  /** Begins: with a one-time link, with the session that there is, or at the door. */
  async start(): Promise<void> {
    window.addEventListener("hashchange", () => void (this.#takeSecret() ? this.#atDoor() : this.visit()));
    setInterval(() => this.#countDown(), 1000);
    document.addEventListener("visibilitychange", () => void (document.hidden || this.#numbering.seen()));
    window.addEventListener("pagehide", () => this.#numbering.left());
    // A page that comes back whole has given its number away.
    window.addEventListener("pageshow", ({ persisted }) => void (persisted && this.#numbering.seen()));
    this.#takeSecret();
    await this.#atDoor();
  }

  /** Takes a one-time secret out of the address at once: neither history nor screen keep it. */
  #takeSecret(): boolean {
    const secret = secretOf(location.hash);
    if (secret === undefined) return false;
    this.#secret = secret;
    history.replaceState(null, "", location.pathname);
    return true;
  }

  async #atDoor(): Promise<void> {
    const me = maybeSignedIn() ? await calls.me().catch(calls.troubleOf) : nobody;
    if (this.#secret !== "") return this.show({ kind: "link", ...("grants" in me && { me }), forms: { link: form() } });
    if ("grants" in me) return this.enter(me);
    if (me.status === 401) {
      rememberSession(false);
      return this.show({ kind: "sign_in", forms: { sign_in: form() } });
    }
    this.show({ kind: "failed", trouble: me, forms: {} });
  }

  async enter(me: Me): Promise<void> {
    this.#secret = "";
    rememberSession(true);
    try {
      this.#house = await enter(me);
    } catch (error) {
      return this.fail(error);
    }
    await this.visit();
  }

  /** Shows what the address names. The old view stays until the new one is there. */
  async visit(): Promise<void> {
    if (this.#house === undefined) return this.#atDoor();
    this.#visit.abort();
    const mine = (this.#visit = new AbortController());
    this.#drawing.busy(true);
    try {
      const state = await load(parse(location.hash), this.#house, new Date());
      if (mine.signal.aborted) return;
      if ("house" in state && state.house !== undefined) this.#house = state.house;
      this.show(this.#drafted(state));
      if (state.kind === "event" || state.kind === "report") this.#count(state, mine.signal);
      if (state.kind === "mails") void keepReading(this, mine.signal);
    } catch (error) {
      if (!mine.signal.aborted) this.fail(error);
    }
  }

  /** Shows a state; `focus` names the element that gets the focus. */
  show(state: State, focus?: string): void {
    this.#keepDraft(this.#state, state);
    this.#state = state;
    this.#drawing.draw(state, focus);
    this.#countDown();
    const ordering = state.kind === "issue" && state.issued === undefined;
    this.#numbering.follow(ordering ? state.event.event : undefined, state.forms["issue"]?.busy ?? false);
  }

  /** Another number for the form, or none; a number that was shown and is lost is named. */
  #number(kept: Kept | undefined): void {
    const state = this.#state;
    if (state.kind !== "issue") return;
    const { kept: before, ...bare } = state;
    if (kept === undefined) return this.show(bare);
    const was = before === undefined || before.number !== kept.number ? before?.number : before.was;
    this.show({ ...bare, kept: { ...kept, ...(was !== undefined && { was }) } });
  }

  #keepDraft(before: State, next: State): void {
    if (before.kind !== "issue" || before.issued !== undefined || next.kind === "issue") return;
    const open = before.forms["issue"];
    if (open !== undefined) this.#drafts.set(before.event.event, open);
  }

  #drafted(state: State): State {
    const draft = state.kind === "issue" ? this.#drafts.get(state.event.event) : undefined;
    if (state.kind !== "issue" || draft === undefined) return state;
    this.#drafts.delete(state.event.event);
    return withForm(state, "issue", { key: draft.key, values: draft.values });
  }

  say(key: Key, values: Readonly<Record<string, string>> = {}): void {
    this.#drawing.say(this.#p.say(key, values));
  }

  /** Nothing can be shown, and why. A session that ended leads back to the door, and from there to the same address. */
  fail(error: unknown): void {
    const trouble = calls.troubleOf(error);
    if (trouble.status === 401) return this.leave("ended");
    this.show({ kind: "failed", ...(this.#house && { house: this.#house }), trouble, forms: {} }, "trouble");
  }

  leave(why: "ended" | "signed_out"): void {
    this.#visit.abort();
    this.#visit = new AbortController();
    rememberSession(false);
    this.#drawing.say("");
    this.#house = undefined;
    this.show({ kind: "sign_in", why, forms: { sign_in: form() } });
  }

  choose(venue: string): void {
    const house = this.#house;
    const chosen = house?.venues.find((one) => one.venue === venue);
    if (house === undefined || chosen === undefined || chosen === house.venue) return;
    this.#house = at(house, chosen);
    // What is shown belongs to the other venue, unless it belongs to none in particular.
    if (this.#state.kind === "gates" || this.#state.kind === "devices") void this.visit();
    else this.go("#/");
  }

  go(to: string): void {
    if (location.hash === to || (to === "#/" && location.hash === "")) void this.visit();
    else location.hash = to;
  }

  press(act: string, on: string): void {
    void press(this, act, on);
  }

  type(id: string, name: string, value: string): void {
    const open = this.#state.forms[id];
    if (open === undefined || open.values[name] === value) return;
    open.values[name] = value;
    if (id === "search") void this.search();
    if (id === "mails") void chooseMails(this);
  }

  submit(id: string): void {
    const open = this.#state.forms[id];
    if (id === "search") void this.search();
    else if (id === "mails") void chooseMails(this);
    else if (open !== undefined && !open.busy) void this.#carryOut(id);
  }

  async #carryOut(id: string): Promise<void> {
    const before = withForm(this.#state, id, { busy: true });
    const form = before.forms[id];
    if (form === undefined) return;
    this.show(before);
    const visiting = this.#visit.signal;
    try {
      const step = await submit(before, id, form, { secret: this.#secret, now: new Date() });
      // Whoever went somewhere else meanwhile is left there.
      if (step !== undefined && !visiting.aborted) this.#take(step, id);
    } catch (error) {
      if (!visiting.aborted) this.#refuse(id, error);
    }
  }

  #take(step: Step, id: string): void {
    switch (step.kind) {
      case "stay":
        this.show(typeof step.state === "function" ? step.state(this.#state) : step.state, step.focus);
        // What somebody changed about himself is so in every room.
        if ("house" in this.#state && this.#state.house !== undefined) this.#house = this.#state.house;
        this.#follow(this.#state);
        break;
      case "go":
        if (step.house !== undefined) this.#house = step.house;
        this.go(step.to);
        break;
      case "entered":
        this.#secret = "";
        rememberSession(true);
        if (step.byLink && step.me.grants.length > 0) this.show({ kind: "password", me: step.me, forms: { password: form() } });
        else void this.enter(step.me);
        return;
      case "refused":
        return this.show(withForm(this.#state, id, { busy: false, trouble: step.trouble }), `trouble-${id}`);
    }
    if (step.said !== undefined) this.say(step.said);
  }

  /** A pairing that has just begun is followed. */
  #follow(state: State): void {
    const id = state.kind === "devices" ? state.pairing?.pairing.pairing : undefined;
    if (id !== undefined) void followPairing(this, id, this.#visit.signal);
  }

  #refuse(id: string, error: unknown): void {
    const trouble = calls.troubleOf(error);
    const another = lost(trouble);
    if (another !== undefined) {
      const shown = this.#state.kind === "issue" ? this.#state.kept?.number : undefined;
      this.#numbering.adopt(another);
      // Somebody has already read this number and pressed.
      if (another.number === shown) return void this.#carryOut(id);
    }
    const { kind, forms } = this.#state;
    if (trouble.status === 401 && kind !== "sign_in" && kind !== "link") return this.leave("ended");
    // What is missing is typed at once; what is wrong is read first.
    const focus = trouble.code === "session.otp_required" ? `${id}-otp` : `trouble-${id}`;
    if (forms[id] !== undefined) this.show(withForm(this.#state, id, refused(trouble)), focus);
  }

  /** Searches once typing rests; the answer of an older search is not waited for. */
  async search(): Promise<void> {
    this.#search.abort();
    const mine = (this.#search = new AbortController());
    const signal = AbortSignal.any([mine.signal, this.#visit.signal]);
    await pause(typingRests, signal);
    if (signal.aborted || this.#state.kind !== "event") return;
    const { q = "", status = "" } = this.#state.forms["search"]?.values ?? {};
    this.show({ ...this.#state, listing: { ...this.#state.listing, busy: true } });
    try {
      const { items, next } = await calls.tickets(this.#state.event.event, { q, status }, signal);
      if (signal.aborted || this.#state.kind !== "event") return;
      this.show({ ...this.#state, listing: { items, next, q, status, busy: false } });
      this.#drawing.say(this.#p.say(next === "" ? "desk.found" : "desk.found_more", { count: items.length }));
    } catch (error) {
      if (signal.aborted || this.#state.kind !== "event") return;
      this.show({ ...this.#state, listing: { ...this.#state.listing, busy: false, trouble: calls.troubleOf(error) } });
    }
  }

  #count({ kind, event }: Extract<State, { kind: "event" | "report" }>, signal: AbortSignal): void {
    void keepCounting(event.event, kind === "event", signal, (counted) => {
      const now = this.#state;
      if (signal.aborted) return;
      if (now.kind === "report") {
        const { trouble: _, ...bare } = now;
        return this.show("report" in counted ? { ...bare, report: counted.report } : { ...bare, trouble: counted.trouble });
      }
      if (now.kind !== "event" || !("report" in counted)) return;
      // The list follows too, as long as it is the plain first page.
      const plain = now.listing.q === "" && now.listing.status === "" && now.listing.items.length <= 100 && !now.listing.busy;
      this.show({ ...now, report: counted.report, ...(counted.first && plain && { listing: { ...now.listing, ...counted.first } }) });
    });
  }

  /** Counts down what is valid for a while, in place. */
  #countDown(): void {
    for (const element of document.querySelectorAll<HTMLElement>("[data-until]")) {
      const left = Math.max(0, Math.round((Date.parse(element.dataset["until"] ?? "") - Date.now()) / 1000));
      element.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    }
  }

  /** The signal that ends with the view. */
  get visiting(): AbortSignal {
    return this.#visit.signal;
  }
}
