// From an unknown browser to a gate at work and back: which screen comes next,
// and what each button does on it.

import { Problem, Unreachable } from "../shared/api.js";
import { chooseReader, type Reader } from "../shared/decode.js";
import { AloneStore } from "./alonestore.js";
import type { Device } from "./answers.js";
import { Calls, openPairing, type SignOn } from "./calls.js";
import { Door, wait } from "./door.js";
import type { Drawing } from "./drawing.js";
import { Former } from "./former.js";
import { collect, suggestedName, takeSecret } from "./pairing.js";
import { Awake, Senses } from "./senses.js";
import type { Acts, Onward, SignOnStep, State, Trouble } from "./state.js";
import type { Paired, Store } from "./store.js";
import { troubleOf } from "./trouble.js";

/** Milliseconds until the server is asked again when it did not answer. */
const retryAfter = 3_000;

export class Shift {
  readonly #store: Store;
  readonly #aloneStore: AloneStore;
  readonly #former: Former;
  readonly #senses = new Senses();
  readonly #awake = new Awake();
  #drawing: Drawing | undefined;
  #state: State = { kind: "loading" };
  #update: (() => void) | undefined;
  #secret: string | undefined;
  #pairingKey = "";
  #collecting = new AbortController();
  #paired: Paired | undefined;
  #calls: Calls | undefined;
  #device: Device | undefined;
  #pin = "";
  #door: Door | undefined;
  /** The next shift begins without network. */
  #alone = false;
  #reader: Promise<Reader> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(store: Store, aloneStore: AloneStore) {
    this.#store = store;
    this.#aloneStore = aloneStore;
    this.#former = new Former(aloneStore, wait, () => this.#formerChanged());
  }

  get state(): State {
    return this.#state;
  }

  draws(drawing: Drawing): void {
    this.#drawing = drawing;
    this.#to(this.#state);
  }

  updateWaits(take: () => void): void {
    this.#update = take;
    this.#to(this.#state);
  }

  /** Decides where to begin, and follows the page's visibility from then on. */
  async begin(): Promise<void> {
    this.#follow();
    await this.#aloneStore.forgetOver(Date.now() + (await this.#aloneStore.offset()));
    await this.#former.begin();
    this.#secret = takeSecret();
    this.#paired = await this.#store.paired();
    const waiting = await this.#store.waiting();
    if (this.#secret !== undefined) this.#offerPairing();
    else if (waiting !== undefined) await this.#await(waiting.collect, waiting.name);
    else await this.#enter();
  }

  /** What the buttons do. */
  acts(): Acts {
    const door = (act: (door: Door) => unknown) => () => void (this.#door && act(this.#door));
    return {
      pair: (name) => void this.#pair(name),
      keepPairing: () => void this.#keep(),
      retry: () => void this.#enter(),
      choosePerson: (person) => this.#step({ kind: "pin", person, digits: 0 }),
      digit: (digit) => this.#digit(digit),
      erase: () => this.#typePin(this.#pin.slice(0, -1)),
      backToNames: () => this.#step({ kind: "names" }),
      usePassword: () => this.#usePassword(),
      password: (email, password) => void this.#password(email, password),
      chooseGate: (gate) => void this.#chooseGate(gate),
      otherGate: () => this.#otherGate(),
      start: () => void this.#start(),
      signOff: () => void this.#signOff(),
      update: () => this.#update?.(),
      tap: door((one) => one.tap()),
      setAside: door((one) => one.setAside()),
      people: (people) => this.#door?.people(people),
      phoneOffline: door((one) => one.phoneOffline()),
      askOverride: door((one) => one.askOverride()),
      turn: (direction) => this.#door?.turn(direction),
      askUndo: (key) => this.#door?.askUndo(key),
      undo: (key, reason) => void this.#door?.undo(key, reason),
      override: (reason) => this.#door?.override(reason),
      judgeAgain: door((one) => one.judgeAgain()),
      openAside: (key) => this.#door?.openAside(key),
      open: (panel) => this.#door?.open(panel),
      typed: (text) => this.#door?.typed(text),
      search: (q) => this.#door?.search(q),
      choose: (ticket) => this.#door?.choose(ticket),
      askLookUp: (asking) => this.#door?.askLookUp(asking),
      lookUp: (reason) => this.#door?.lookUp(reason),
      scanned: (burst) => this.#door?.scanned(burst),
      closeGate: door((one) => one.closeGate()),
      openGate: door((one) => one.openGate()),
      goAlone: (on) => void this.#goAlone(on),
      handIn: () => this.#former.hurry(),
      wake: door((one) => one.wake()),
      anotherCamera: door((one) => one.anotherCamera()),
      light: (on) => void this.#door?.light(on),
    };
  }

  #follow(): void {
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") void this.#door?.visible();
      else this.#door?.hidden();
    });
    window.addEventListener("pagehide", () => this.#door?.hidden());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) void this.#door?.visible();
    });
    window.addEventListener("online", () => {
      this.#door?.hurry();
      this.#former.hurry();
    });
    // A pairing link that is opened in this very window only changes the fragment.
    window.addEventListener("hashchange", () => {
      this.#secret = takeSecret() ?? this.#secret;
      if (this.#secret !== undefined && this.#door === undefined) this.#offerPairing();
    });
  }

  #to(state: State): void {
    this.#state = state;
    this.#drawing?.draw({ state, update: this.#update !== undefined });
  }

  #offerPairing(trouble?: Trouble, name = suggestedName()): void {
    clearTimeout(this.#retry);
    this.#collecting.abort();
    this.#pairingKey ||= crypto.randomUUID();
    this.#to({ kind: "pairing", name, busy: false, ...(this.#paired && { paired: this.#paired.name }), ...(trouble && { trouble }) });
  }

  async #pair(name: string): Promise<void> {
    if (this.#state.kind !== "pairing" || this.#state.busy || this.#secret === undefined) return;
    const { trouble: _, ...state } = this.#state;
    this.#to({ ...state, name, busy: true });
    try {
      const { collect: secret } = await openPairing(this.#secret, name, this.#pairingKey);
      this.#secret = undefined;
      this.#pairingKey = "";
      await this.#store.set("waiting", { collect: secret, name });
      await this.#await(secret, name);
    } catch (error) {
      // Ended links cannot be tried again; a lost answer can, under the same key.
      const trouble = troubleOf(error);
      const over = error instanceof Problem && [404, 409, 410].includes(error.status);
      if (over) await this.#unpair(trouble);
      else this.#offerPairing(trouble, name);
    }
  }

  async #await(secret: string, name: string): Promise<void> {
    this.#collecting = new AbortController();
    const tell = (online: boolean) => this.#to({ kind: "confirming", name, online });
    tell(true);
    const ended = await collect(secret, this.#collecting.signal, tell);
    await this.#store.forget("waiting");
    if (ended.kind === "ended") return this.#unpair(ended.trouble);
    if (this.#paired !== undefined && this.#paired.device !== ended.paired.device) await this.#former.left(this.#paired);
    await this.#store.set("paired", ended.paired);
    await this.#store.forget("gate");
    this.#paired = ended.paired;
    await this.#enter();
  }

  /** A pairing came to nothing. What was paired before stays. */
  async #unpair(trouble: Trouble): Promise<void> {
    this.#secret = undefined;
    this.#pairingKey = "";
    if (this.#paired === undefined) return this.#to({ kind: "unpaired", trouble, unsent: this.#former.unsent });
    await this.#enter();
  }

  async #keep(): Promise<void> {
    this.#secret = undefined;
    await this.#enter();
  }

  /** Asks the server who and where this device is, until it says. */
  async #enter(): Promise<void> {
    clearTimeout(this.#retry);
    if (this.#paired === undefined) return this.#to({ kind: "unpaired", unsent: this.#former.unsent });
    this.#calls = new Calls(this.#paired.token);
    try {
      await this.#enterAs(await this.#calls.device());
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return this.#revoked(error);
      const onward = await this.#onward();
      this.#to({ kind: "unreachable", ...(onward && { onward }) });
      const pause = error instanceof Unreachable ? Math.max(retryAfter, error.retryAfter * 1000) : retryAfter;
      this.#retry = setTimeout(() => void this.#enter(), pause);
    }
  }

  async #enterAs(device: Device): Promise<void> {
    this.#device = device;
    this.#alone = false;
    if (device.person === undefined) {
      await this.#aloneStore.setShift(undefined);
      return this.#step({ kind: "names" });
    }
    const chosen = await this.#store.gate();
    const [only, ...others] = device.gates;
    const gate = device.gates.find((one) => one.gate === chosen) ?? (others.length === 0 ? only : undefined);
    if (gate === undefined) return this.#to({ kind: "choose_gate", device });
    await this.#ready(device, gate.gate);
  }

  async #ready(device: Device, gate: string): Promise<void> {
    const mine = (await this.#aloneStore.uploads()).filter((upload) => upload.device === device.device);
    const unsent = (await this.#store.scans()).length + mine.length;
    await this.#aloneStore.setShift({ device, gate });
    this.#to({ kind: "ready", device, gate, unsent, alone: this.#alone });
  }

  /** Who worked here when there was a network, if there is a pack to go on with: nobody signs on without one. */
  async #onward(): Promise<Onward | undefined> {
    const last = await this.#aloneStore.shift();
    if (last === undefined || last.device.device !== this.#paired?.device) return undefined;
    const head = (await this.#aloneStore.pack(last.gate))?.now?.head;
    const { gates, venue, person } = last.device;
    const gate = gates.find((one) => one.gate === last.gate);
    if (head === undefined || gate === undefined) return undefined;
    return { gate: gate.name, person: person?.name ?? "", time_zone: venue.time_zone, made_at: head.made_at };
  }

  /** At work this is a switch; before it, a page that finds no server goes on as whoever worked here last. */
  async #goAlone(on: boolean): Promise<void> {
    if (this.#door !== undefined) return this.#door.goAlone(on);
    const last = await this.#aloneStore.shift();
    if (this.#state.kind !== "unreachable" || last === undefined) return;
    clearTimeout(this.#retry);
    this.#device = last.device;
    this.#alone = true;
    await this.#ready(last.device, last.gate);
  }

  #formerChanged(): void {
    if (this.#state.kind === "unpaired") this.#to({ ...this.#state, unsent: this.#former.unsent });
  }

  async #revoked(problem: Problem): Promise<void> {
    this.#door?.stop();
    this.#door = undefined;
    const paired = this.#paired;
    this.#paired = undefined;
    await this.#store.forget("paired");
    if (paired !== undefined) await this.#former.left(paired);
    this.#to({ kind: "unpaired", trouble: troubleOf(problem), unsent: this.#former.unsent });
  }

  #step(step: SignOnStep, trouble?: Trouble, busy = false): void {
    this.#pin = step.kind === "pin" && busy ? this.#pin : "";
    if (this.#device !== undefined) this.#to({ kind: "sign_on", device: this.#device, step, busy, ...(trouble && { trouble }) });
  }

  #digit(digit: string): void {
    const { state } = this;
    if (state.kind !== "sign_on" || state.step.kind !== "pin" || state.busy || this.#pin.length >= 6) return;
    this.#typePin(this.#pin + digit);
    if (this.#pin.length === 6) void this.#signOn({ person: state.step.person.person, pin: this.#pin });
  }

  #typePin(pin: string): void {
    const { state } = this;
    if (state.kind !== "sign_on" || state.step.kind !== "pin" || state.busy) return;
    this.#pin = pin;
    this.#to({ kind: "sign_on", device: state.device, busy: false, step: { ...state.step, digits: pin.length } });
  }

  #usePassword(): void {
    const { state } = this;
    if (state.kind !== "sign_on") return;
    this.#step({ kind: "password", ...(state.step.kind === "pin" && { person: state.step.person }) });
  }

  async #password(email: string, password: string): Promise<void> {
    const { state } = this;
    if (state.kind !== "sign_on" || state.step.kind !== "password") return;
    const { person } = state.step;
    await this.#signOn(person === undefined ? { email, password } : { person: person.person, password });
  }

  async #signOn(who: SignOn): Promise<void> {
    const { state } = this;
    if (state.kind !== "sign_on" || state.busy || this.#calls === undefined) return;
    const { step } = state;
    this.#step(step, undefined, true);
    try {
      await this.#enterAs(await this.#calls.signOn(who));
    } catch (error) {
      if (error instanceof Problem && error.status === 401) return this.#revoked(error);
      this.#step(afterRefusal(step, error), troubleOf(error));
    }
  }

  async #signOff(): Promise<void> {
    this.#leaveDoor();
    this.#to({ kind: "loading" });
    await this.#calls?.signOff().catch(() => undefined);
    await this.#enter();
  }

  async #chooseGate(gate: string): Promise<void> {
    if (this.#device === undefined) return;
    await this.#store.set("gate", gate);
    await this.#ready(this.#device, gate);
  }

  #otherGate(): void {
    this.#leaveDoor();
    if (this.#device !== undefined) this.#to({ kind: "choose_gate", device: this.#device });
  }

  #leaveDoor(): void {
    this.#door?.stop();
    this.#door = undefined;
  }

  /** One gesture unlocks sound and camera; nothing may wait before the sound. */
  async #start(): Promise<void> {
    const { state } = this;
    if (state.kind !== "ready" || this.#door !== undefined || this.#calls === undefined || this.#drawing === undefined) return;
    this.#senses.unlock();
    this.#senses.playAll();
    const gate = state.device.gates.find((one) => one.gate === state.gate);
    if (gate === undefined) return;
    this.#reader ??= chooseReader();
    const door = new Door({
      calls: this.#calls,
      store: this.#store,
      aloneStore: this.#aloneStore,
      device: state.device,
      gate,
      video: this.#drawing.video,
      reader: this.#reader,
      senses: this.#senses,
      awake: this.#awake,
      changed: (work) => this.#to(work),
      barred: (problem) => void this.#barred(problem),
    });
    this.#door = door;
    await door.start(this.#alone);
  }

  async #barred(problem: Problem): Promise<void> {
    if (problem.status === 401) return this.#revoked(problem);
    if (problem.code !== "session.sign_on_required") return;
    this.#leaveDoor();
    await this.#enter();
  }
}

/** Where a refused sign-on goes on: after too many wrong PINs, and for people without one, by password. */
export function afterRefusal(step: SignOnStep, error: unknown): SignOnStep {
  if (step.kind !== "pin") return step;
  const code = error instanceof Problem ? error.code : "";
  if (code === "sign_on.pin_locked" || code === "sign_on.no_pin") return { kind: "password", person: step.person };
  return { ...step, digits: 0 };
}
