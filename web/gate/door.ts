// A gate at work: brings camera, lease, scans and senses together. It holds
// what is on the screen and hands out a new Work whenever that changes.

import type { Cause, Problem } from "../shared/api.js";
import { Camera } from "../shared/camera.js";
import type { Reader } from "../shared/decode.js";
import type { AloneStore } from "./alonestore.js";
import type { Answer, Device, Gate, Hold } from "./answers.js";
import { issuerKeys, release, type Calls, type Scan } from "./calls.js";
import { choose, judgeTyped, type Judged } from "./judge.js";
import { Known } from "./known.js";
import { Lease } from "./lease.js";
import { Offline } from "./offline.js";
import { Outbox, type Outcome, type Stored, type Wait } from "./outbox.js";
import { after, classOf, empty, takes, type Event, type Screen, type Shown } from "./screen.js";
import { noSearch, Searching } from "./search.js";
import type { Awake, Senses } from "./senses.js";
import { shownCodes } from "./shown.js";
import type { Panel, Trouble, Work } from "./state.js";
import { Receipts } from "./receipts.js";
import { changed, withAnswer, type Recent } from "./recent.js";
import type { Store } from "./store.js";
import { troubleOf } from "./trouble.js";
import type { Burst } from "./wedge.js";

/** A full-screen admission becomes a strip after this many milliseconds, and a scan counts as slow after that many. */
const fadeAfter = 2_000;
const slowAfter = 1_000;

/** After this many milliseconds without an answer the controller may go on without network. */
const aloneAfter = 2_000;

/** After this many guests in a row who were inside already, the page asks whether they are leaving. */
const tooManyInside = 10;

/** A code that was scanned longer ago than this many milliseconds may be too old when it arrives; 35 s is too old. */
const freshFor = 25_000;

/** What a gate at work needs from around it. */
export interface Around {
  readonly calls: Calls;
  readonly store: Store;
  readonly aloneStore: AloneStore;
  readonly device: Device;
  readonly gate: Gate;
  readonly video: HTMLVideoElement;
  readonly reader: Promise<Reader>;
  readonly senses: Senses;
  readonly awake: Awake;
  changed(work: Work): void;
  /** The server does not know this device any more, or nobody is signed on to it. */
  barred(problem: Problem): void;
}

export const wait: Wait = (milliseconds, then) => {
  const timer = setTimeout(then, milliseconds);
  return () => clearTimeout(timer);
};

export class Door {
  readonly #around: Around;
  readonly #known = new Known();
  readonly #outbox: Outbox;
  readonly #receipts: Receipts;
  readonly #lease: Lease;
  readonly #camera: Camera;
  readonly #codes: ReturnType<typeof shownCodes>;
  readonly #offline: Offline;
  readonly #searching: Searching;
  #screen: Screen = empty;
  #scan: Stored | undefined;
  #panel: Panel = { kind: "none" };
  #online = true;
  #trouble: Trouble | undefined;
  #overrides = 0;
  #recent: readonly Recent[] = [];
  #direction: "in" | "out" = "in";
  #insideInARow = 0;
  #stopped = false;
  #showing: Promise<void> | undefined;
  #endFade: () => void = () => undefined;
  #endSlow: () => void = () => undefined;
  #endWaiting: () => void = () => undefined;

  constructor(around: Around) {
    this.#around = around;
    const { calls, store, gate } = around;
    const network = (reached: boolean, why?: Cause) => this.#network(reached, why);
    const barred = (problem: Problem) => this.#barred(problem);
    this.#outbox = new Outbox({
      send: (scan, key) => calls.scan(scan, key),
      put: (scan) => store.putScan(scan),
      delete: (key) => store.deleteScan(key),
      newKey: () => crypto.randomUUID(),
      decided: (scan, outcome) => this.#decided(scan, outcome),
      wait,
      network,
      barred,
    });
    this.#receipts = new Receipts({
      send: (receipts) => calls.shown(receipts),
      put: (receipt) => store.putReceipt(receipt),
      delete: (key) => store.deleteReceipt(key),
      wait,
    });
    this.#lease = new Lease({
      hold: () => this.#timed(calls.hold(gate.gate)),
      renew: (lease) => this.#timed(calls.renew(lease)),
      close: (lease) => calls.close(lease),
      release,
      wait,
      now: () => performance.now(),
      changed: (state) => {
        if (state === "held") this.#trouble = undefined;
        this.#draw();
      },
      network,
      barred,
    });
    this.#camera = new Camera(around.video, around.reader, (texts) => this.#saw(choose(texts), false), () => this.#draw());
    this.#offline = new Offline({
      store: around.aloneStore,
      device: around.device,
      gate,
      fetch: (of, since, after) => calls.pack(of, since, after),
      keys: issuerKeys,
      send: (scans) => calls.batch(scans),
      wait,
      changed: () => this.#draw(),
      network,
      barred,
    });
    this.#codes = shownCodes(() => (this.#offline.on ? this.#offline.ownCode() : calls.show(gate.gate)), (code) => {
      if (this.#panel.kind === "gate_code") this.#show({ kind: "gate_code", failed: code === undefined, ...(code && { code }) });
    });
    this.#searching = new Searching((q) => calls.search(gate.gate, q), (search) => {
      if (this.#panel.kind === "search") this.#show({ kind: "search", ...search });
    });
  }

  /** Takes up what is left from before, then holds the gate and opens the camera; `alone` begins without network. */
  async start(alone = false): Promise<void> {
    const offline = this.#offline.open(alone);
    if (alone) await offline;
    this.#camera.prefer(await this.#around.store.camera());
    this.#overrides = await this.#around.store.overrides(this.#person());
    this.#recent = await this.#around.store.recent(this.#person());
    this.#receipts.resume(await this.#around.store.receipts());
    this.#outbox.resume(await this.#around.store.scans());
    this.#draw();
    await this.visible();
  }

  /** The page is in view: takes everything up again. */
  visible(): Promise<void> {
    return (this.#showing ??= this.#takeUp().finally(() => (this.#showing = undefined)));
  }

  // The lease comes first: guests see their code again before anybody can scan it.
  async #takeUp(): Promise<void> {
    if (this.#stopped) return;
    await this.#lease.show();
    if (this.#stopped || document.visibilityState !== "visible") return;
    if (this.#lease.state !== "closed" && this.#camera.state === "off") await this.#camera.start();
    if (this.#panel.kind === "gate_code") this.#codes.start();
    await this.#around.awake.want(this.#lease.state !== "closed");
  }

  hidden(): void {
    this.#lease.hide();
    if (this.#camera.state !== "denied" && this.#camera.state !== "none") this.#camera.stop();
    this.#codes.stop();
    void this.#around.awake.want(false);
    this.#event({ kind: "set_aside" });
  }

  /** Ends work: gives lease and camera back; open scans stay stored. */
  stop(): void {
    this.hidden();
    this.#stopped = true;
    this.#outbox.stop();
    this.#receipts.stop();
    this.#offline.stop();
    this.#endFade();
    this.#endSlow();
    this.#endWaiting();
  }

  /** Goes on without network, with the scan that waits first; or back to the server. */
  goAlone(on: boolean): void {
    this.#offline.turn(on);
    if (this.#panel.kind === "gate_code") this.open("gate_code");
    if (this.#offline.on && this.#scan !== undefined && this.#screen.over.kind === "asking") void this.#judgeAlone(this.#scan);
  }

  /** The browser says that there is a network again. */
  hurry(): void {
    this.#outbox.hurry();
    this.#receipts.hurry();
    this.#offline.hurry();
    void this.#lease.hurry();
  }

  tap(): void {
    this.#event({ kind: "tapped" });
    void this.wakeIfResting();
  }

  setAside(): void {
    this.#event({ kind: "set_aside" });
  }

  people(people: number): void {
    this.#amend({ people });
  }

  phoneOffline(): void {
    this.#amend({ phone_offline: true });
  }

  askOverride(): void {
    const { over } = this.#screen;
    if (over.kind === "answer" && over.key !== undefined && over.key === this.#scan?.key) this.#show({ kind: "override" });
  }

  /** Lets in against the answer on the screen, which is the scan under its own key once more. */
  override(reason: string): void {
    const { over } = this.#screen;
    if (this.#scan === undefined || over.kind !== "answer" || over.key !== this.#scan.key || over.shown.kind !== "answer") return;
    const ticket = over.shown.answer.ticket?.ticket;
    const late = this.#scan.look_up !== undefined || Date.now() - Date.parse(this.#scan.scanned_at) > freshFor;
    this.#amend({ override: { reason, ...(late && ticket !== undefined && { ticket }) } });
  }

  /** Counts entries or exits from now on; the same phone may come at once for the other. */
  turn(direction: "in" | "out"): void {
    this.#direction = direction;
    this.#insideInARow = 0;
    this.#known.forgetAll();
    this.#show({ kind: "none" });
  }

  askUndo(key?: string): void {
    if (this.#panel.kind === "recent" && !this.#panel.busy) this.#show({ kind: "recent", busy: false, ...(key !== undefined && { undoing: key }) });
  }

  /** Takes an admission back. Where the answer is lost, the same press asks for it again. */
  async undo(key: string, reason: string): Promise<void> {
    const one = this.#recent.find((scan) => scan.key === key);
    if (one?.ticket === undefined || this.#panel.kind !== "recent" || this.#panel.busy) return;
    const callKey = one.undo ?? crypto.randomUUID();
    this.#show({ kind: "recent", undoing: key, busy: true });
    await this.#remember(changed(this.#recent, key, { undo: callKey }));
    try {
      await this.#around.calls.undo(one.ticket.ticket, key, reason, callKey);
      this.#known.forget(one.ticket.ticket);
      await this.#remember(changed(this.#recent, key, { undone: true }));
      this.#show({ kind: "recent", busy: false });
    } catch (error) {
      this.#show({ kind: "recent", undoing: key, busy: false, trouble: troubleOf(error) });
    }
  }

  /** Whatever was answered before, the next sighting is a scan of its own. */
  judgeAgain(): void {
    const { over, last } = this.#screen;
    const id = over.kind === "answer" ? over.id : last?.id;
    if (id !== undefined) this.#known.forget(id);
    this.#to(empty);
  }

  openAside(key: string): void {
    const scan = this.#outbox.get(key);
    if (scan?.outcome === undefined || this.#screen.over.kind === "asking") return;
    this.#answer(scan, scan.outcome);
  }

  open(kind: Panel["kind"]): void {
    this.#codes.stop();
    this.#searching.clear();
    if (kind === "gate_code") this.#codes.start();
    this.#show(opened(kind));
  }

  typed(text: string): void {
    this.#show({ kind: "none" });
    this.#saw(judgeTyped(text), true);
  }

  /** Searches; a code that a hand scanner typed there is a code all the same. */
  search(q: string): void {
    if (this.#panel.kind !== "search" || this.#panel.busy) return;
    const judged = judgeTyped(q);
    // Digits alone are a ticket's number here, and whoever has a short code types it elsewhere.
    if (judged.kind === "ticket" && !/^[\d ]+$/.test(q.trim())) return this.typed(q);
    void this.#searching.search(q);
  }

  choose(ticket?: string): void {
    if (this.#panel.kind === "search") this.#searching.choose(ticket);
  }

  askLookUp(asking: boolean): void {
    if (this.#panel.kind === "search") this.#searching.asks(asking);
  }

  /** Lets in the guest whose card is open, without a code: a scan like any other, so it is not lost either. */
  lookUp(reason: string): void {
    const { chosen, asking } = this.#searching.now;
    if (this.#panel.kind !== "search" || chosen === undefined || !asking) return;
    if (this.#screen.over.kind === "asking") return;
    this.open("none");
    this.#known.began(chosen.ticket, "", performance.now());
    this.#send(chosen.ticket, "", { reason, ticket: chosen.ticket });
  }

  /** A hand scanner's burst, whatever had the focus. */
  scanned(burst: Burst): void {
    if (this.#lease.state === "closed") return;
    if (burst.kind === "code") return this.typed(burst.text);
    this.#saw({ kind: "foreign", id: burst.kind, reason: "malformed", what: burst.kind }, true);
  }

  /** The first press asks, the second closes. */
  async closeGate(): Promise<void> {
    if (this.#panel.kind !== "more" || this.#panel.busy) return;
    if (!this.#panel.closing) return this.#show({ kind: "more", closing: true, busy: false });
    this.#show({ kind: "more", closing: true, busy: true });
    try {
      await this.#lease.close();
      this.#camera.stop();
      await this.#around.awake.want(false);
      this.#show({ kind: "none" });
    } catch (error) {
      this.#show({ kind: "more", closing: false, busy: false, trouble: troubleOf(error) });
    }
  }

  async openGate(): Promise<void> {
    await this.#lease.open();
    await this.visible();
  }

  async wake(): Promise<void> {
    await this.#camera.start();
  }

  /** The next of the cameras, which is this browser's from now on. */
  async anotherCamera(): Promise<void> {
    const chosen = await this.#camera.another();
    if (chosen !== undefined) await this.#around.store.set("camera", chosen);
  }

  light(on: boolean): Promise<void> {
    return this.#camera.light(on);
  }

  async wakeIfResting(): Promise<void> {
    if (this.#camera.state === "resting") await this.wake();
  }

  #saw(judged: Judged | undefined, deliberate: boolean): void {
    if (judged === undefined || this.#stopped) return;
    this.#camera.touch();
    const { over } = this.#screen;
    const inView = over.kind === "answer" ? over.id : over.kind === "asking" ? this.#scan?.ticket : undefined;
    if (inView !== judged.id && !takes(this.#screen)) return this.#other();
    const text = judged.kind === "ticket" ? judged.code : judged.id;
    switch (this.#known.sight(judged.id, text, performance.now(), deliberate)) {
      case "same":
        return;
      case "new":
        if (!takes(this.#screen)) return;
        this.#known.began(judged.id, text, performance.now());
        return judged.kind === "ticket" ? this.#send(judged.id, judged.code) : this.#foreign(judged);
      case "pending":
        return judged.kind === "ticket" ? this.#send(judged.id, judged.code) : undefined;
      case "again":
        return this.#repeat(judged.id, inView === judged.id);
    }
  }

  /** Somebody else's code while an answer waits for a person: said once, sent never. */
  #other(): void {
    const { over } = this.#screen;
    if (over.kind === "nothing" || over.other) return;
    this.#around.senses.tick();
    this.#event({ kind: "other" });
  }

  #repeat(id: string, onScreen: boolean): void {
    // It was answered while set aside, and nobody saw that yet.
    const unseen = this.#outbox.of(id);
    if (unseen?.outcome !== undefined) return this.#answer(unseen, unseen.outcome);
    this.#around.senses.tick();
    const shown = this.#known.recall(id);
    if (onScreen || shown === undefined) return;
    this.#event({ kind: "answered", shown, id, old: true });
  }

  #foreign({ id, reason, what }: Extract<Judged, { kind: "foreign" }>): void {
    const shown: Shown = { kind: "foreign", reason, ...(what !== undefined && { what }) };
    this.#known.answered(id, shown);
    this.#around.senses.answer(classOf(shown));
    this.#event({ kind: "answered", shown, id });
  }

  #send(ticket: string, code: string, look_up?: Scan["look_up"]): void {
    const open = this.#outbox.of(ticket);
    // It was answered while set aside: that is the answer, unless it was "once more".
    if (open?.outcome?.kind === "answer" && open.outcome.answer.verdict !== "retry") return this.#answer(open, open.outcome);
    const scan = { gate: this.#around.gate.gate, code, scanned_at: new Date().toISOString(), ...(this.#direction === "out" && { direction: "out" as const }), ...(look_up && { look_up }) };
    if (this.#offline.on && look_up === undefined) return this.#alone({ ...scan, ticket, key: this.#keyAlone(ticket) });
    this.#asks(this.#outbox.send(ticket, scan));
  }

  /** A scan whose answer was lost, or seen by nobody, is the same scan without network. */
  #keyAlone(ticket: string): string {
    const lost = this.#outbox.open().find((scan) => scan.ticket === ticket && scan.direction === (this.#direction === "out" ? "out" : undefined));
    return lost?.key ?? this.#offline.unseen(ticket, this.#direction) ?? crypto.randomUUID();
  }

  #alone(scan: Stored): void {
    this.#asks(scan);
    void this.#judgeAlone(scan);
  }

  /** Decides here. The decision is kept before it is shown, and from then on it is what the server hears of this scan. */
  async #judgeAlone(scan: Stored): Promise<void> {
    const answer = await this.#offline.judge(scan);
    if (answer.verdict !== "retry") await this.#outbox.take(scan.key);
    if (this.#stopped) return;
    const { over } = this.#screen;
    if (over.kind === "asking" && over.key === scan.key) this.#answer(scan, { kind: "answer", answer });
  }

  /** A call whose answer says what time it is. */
  async #timed(answered: Promise<Hold>): Promise<Hold> {
    const sent = Date.now();
    const hold = await answered;
    this.#offline.learn(hold.server_time, sent);
    return hold;
  }

  #amend(more: Parameters<Outbox["amend"]>[1]): void {
    if (this.#scan === undefined || this.#screen.over.kind !== "answer") return;
    this.#known.began(this.#scan.ticket, this.#scan.code, performance.now());
    const { outcome: _, ...scan } = this.#scan;
    if (this.#offline.on && scan.look_up === undefined) return this.#alone({ ...scan, ...more });
    this.#asks(this.#outbox.amend(this.#scan, more));
  }

  #asks(scan: Stored): void {
    this.#scan = scan;
    this.#endFade();
    this.#endSlow();
    this.#endWaiting();
    this.#endSlow = wait(slowAfter, () => this.#event({ kind: "slow", key: scan.key }));
    this.#endWaiting = wait(aloneAfter, () => this.#offline.slow());
    this.#event({ kind: "sent", key: scan.key });
  }

  #decided(scan: Stored, outcome: Outcome): void {
    const { over } = this.#screen;
    if (over.kind === "asking" && over.key === scan.key) return this.#answer(scan, outcome);
    this.#known.answered(scan.ticket, shownOf(outcome));
    this.#around.senses.tick();
    this.#draw();
  }

  #answer(scan: Stored, outcome: Outcome): void {
    const shown = shownOf(outcome);
    this.#scan = scan;
    this.#endSlow();
    this.#endWaiting();
    this.#endFade();
    this.#known.answered(scan.ticket, shown);
    this.#around.senses.answer(classOf(shown));
    if (shown.kind === "answer") this.#insideInARow = shown.answer.reason === "already_inside" ? this.#insideInARow + 1 : 0;
    if (shown.kind === "answer") this.#offline.shown(shown.answer, scan.key);
    if (shown.kind === "answer") void this.#remember(withAnswer(this.#recent, scan, shown.answer));
    if (shown.kind === "answer" && shown.answer.verdict === "admit") this.#entered(scan, shown.answer);
    this.#endFade = wait(fadeAfter, () => this.#event({ kind: "faded", key: scan.key }));
    this.#event({ kind: "answered", shown, id: scan.ticket, key: scan.key });
    void this.#outbox.seen(scan.key).then(() => this.#draw());
  }

  /** An admission is on the screen: the server hears of it, and judgement is counted. */
  #entered(scan: Stored, answer: Answer): void {
    if (answer.ticket !== undefined && answer.alone === undefined) void this.#receipts.shown({ ticket: answer.ticket.ticket, key: scan.key });
    if ((answer.overridden ?? []).length === 0 || answer.replayed) return;
    this.#overrides++;
    void this.#around.store.setOverrides(this.#person(), this.#overrides);
  }

  #person(): string {
    return this.#around.device.person?.person ?? "";
  }

  async #remember(recent: readonly Recent[]): Promise<void> {
    this.#recent = recent;
    this.#draw();
    await this.#around.store.setRecent(this.#person(), recent);
  }

  #barred(problem: Problem): void {
    this.#trouble = troubleOf(problem);
    this.#around.barred(problem);
  }

  #network(reached: boolean, why?: Cause): void {
    this.#offline.network(reached, why);
    if (reached === this.#online) return;
    this.#online = reached;
    this.#draw();
    if (reached) this.hurry();
  }

  #event(event: Event): void {
    this.#to(after(this.#screen, event));
  }

  #to(screen: Screen): void {
    if (screen === this.#screen) return;
    this.#screen = screen;
    if (this.#panel.kind === "override") this.#panel = { kind: "none" }; // it was about the answer before
    this.#draw();
  }

  #show(panel: Panel): void {
    this.#panel = panel;
    this.#draw();
  }

  #draw(): void {
    if (this.#stopped) return;
    const { gate, device } = this.#around;
    const { over } = this.#screen;
    const inView = over.kind === "nothing" ? undefined : over.key;
    const open = this.#outbox.open().filter((scan) => scan.key !== inView);
    this.#around.changed({
      kind: "working",
      gate: gate.name,
      person: device.person?.name ?? "",
      time_zone: device.venue.time_zone,
      online: this.#online,
      lease: this.#lease.state,
      camera: this.#camera.state,
      optics: this.#camera.optics,
      screen: this.#screen,
      aside: open.map(({ key, scanned_at: at, outcome }) => ({ key, at, ...(outcome !== undefined && { shown: shownOf(outcome) }) })),
      unsent: this.#outbox.open().filter((scan) => scan.outcome === undefined).length,
      panel: this.#panel,
      overrides: this.#overrides,
      recent: this.#recent,
      alone: this.#offline.view,
      direction: this.#direction,
      perhapsExits: this.#direction === "in" && this.#insideInARow >= tooManyInside,
      ...(this.#trouble !== undefined && { trouble: this.#trouble }),
    });
  }
}

function shownOf(outcome: Outcome): Shown {
  return outcome.kind === "answer" ? { kind: "answer", answer: outcome.answer } : { kind: "problem", code: outcome.code, detail: outcome.detail };
}

/** A panel as it opens. */
function opened(kind: Panel["kind"]): Panel {
  switch (kind) {
    case "search":
      return { kind, ...noSearch };
    case "recent":
      return { kind, busy: false };
    case "more":
      return { kind, closing: false, busy: false };
    case "gate_code":
      return { kind, failed: false };
    default:
      return { kind };
  }
}
