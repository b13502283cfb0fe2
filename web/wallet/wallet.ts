// Moves the page between its states: from a link to tickets on this phone, and
// from there to the door.

import { Problem } from "../shared/api.js";
import { registerService } from "../shared/trusted.js";
import { api, type Offer } from "./answers.js";
import { calendar, claimEntry, download } from "./calendar.js";
import { CannotKeep, finish, linkID, mayCome, prepare, retryAfter, whyFailed } from "./claiming.js";
import { Clock } from "./clock.js";
import type { Drawing } from "./drawing.js";
import { appOf } from "./inapp.js";
import { forgetCode, isNotMe, linkOf, takeCode } from "./link.js";
import { Moving } from "./moving.js";
import type { Camera } from "./reading.js";
import { Show } from "./show.js";
import { claimable, linkStands, movable } from "./stack.js";
import type { Acts, CameraState, OfferState, State } from "./state.js";
import { byDoors, type Held, type Store } from "./store.js";
import type { Words } from "./words.js";

/** How long a claim without an answer waits before it is sent again, in milliseconds. */
const longestWait = 5_000;

export class Wallet {
  readonly #store: Store | undefined;
  readonly #words: Words;
  readonly #app = appOf(navigator.userAgent);
  readonly #moving: Moving;
  #drawing: Drawing | undefined;
  #show: Show | undefined;
  #state: State = { kind: "loading" };
  #code: string | undefined;
  #camera: Camera | undefined;
  #wake: (() => void) | undefined;
  #served = false;

  /** Without a store the page can only say so. */
  constructor(store: Store | undefined, words: Words) {
    this.#store = store;
    this.#words = words;
    this.#moving = new Moving(store, {
      to: (state) => this.#to(state),
      held: () => this.#show?.held ?? [],
      took: (bound) => this.#claimed(bound),
      look: (code) => this.#look(code),
      pause: (milliseconds) => this.#pause(milliseconds),
    });
  }

  draws(drawing: Drawing): void {
    this.#drawing = drawing;
  }

  /** Opens with what there is: an unfinished claim, a link, tickets. */
  async begin(): Promise<void> {
    this.#watch();
    const store = this.#store;
    if (store !== undefined) {
      const [offset, held] = await Promise.all([store.offset().catch(() => undefined), store.tickets(Date.now()).catch(() => [])]);
      this.#show = new Show(store, new Clock(offset), () => this.#redraw());
      this.#show.take(held);
    }
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#code = takeCode(this.#app !== undefined);
    if (this.#code !== undefined && isNotMe(this.#code)) return this.#moving.show(this.#code);
    if (await this.#store?.unfinished().catch(() => undefined)) return this.#finish();
    if (this.#code === undefined) return this.#tickets() ? undefined : this.#to({ kind: "no_link" });
    const link = await linkID(this.#code);
    const ours = this.#show?.held.filter((held) => held.link === link && held.state !== "moved") ?? [];
    // The way back to a ticket is its mail: no question first, the door may have no network.
    if (ours.length > 0 && this.#show !== undefined) {
      this.#show.take(this.#show.held, ours.map(({ ticket }) => ticket));
      this.#tickets();
      return this.#more(this.#code);
    }
    await this.#look(this.#code);
  }

  /** Asks what a link is for. */
  async #look(code: string): Promise<void> {
    try {
      const offer = await api.offer(code);
      if (linkStands(offer) !== "taken" || !this.#moving.resume(code, offer)) this.#offer(offer);
    } catch (error) {
      if (!(error instanceof Problem) && this.#tickets()) return;
      this.#to({ kind: "link_failed", why: whyFailed(error) });
    }
  }

  /** A link that was used here may have got more to take; nobody is interrupted at the door for that. */
  async #more(code: string): Promise<void> {
    const offer = await api.offer(code).catch(() => undefined);
    const state = this.#show?.state();
    if (offer?.claimable === true && this.#state.kind === "tickets" && state?.face.kind !== "code") this.#offer(offer);
    else forgetCode();
  }

  #offer(offer: Offer): void {
    this.#to({ kind: "offer", offer, app: this.#app, copied: false, step: "ask", others: (this.#show?.held.length ?? 0) > 0 });
  }

  /** Shows the tickets of this phone; false when there are none. */
  #tickets(): boolean {
    const state = this.#show?.state();
    if (this.#show === undefined || state === undefined) return false;
    this.#to(state);
    if (document.visibilityState === "visible") this.#show.resume();
    if (!this.#served) {
      this.#served = true;
      // Not before the ticket stands: what the page needs offline must not delay it.
      setTimeout(() => void registerService("/w"), 1500);
    }
    return true;
  }

  // Claiming.

  async #claim(state: OfferState): Promise<void> {
    if (this.#store === undefined || this.#code === undefined) return this.#to({ kind: "cannot_keep" });
    this.#to({ ...state, step: "claiming" });
    try {
      await prepare(this.#store, this.#code, claimable(state.offer));
    } catch (error) {
      if (!(error instanceof CannotKeep)) throw error;
      return this.#to({ kind: "cannot_keep" });
    }
    await this.#finish();
  }

  /** Sends the claim until it has an answer, however often that takes. */
  async #finish(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    if (this.#state.kind !== "offer") this.#to({ kind: "finishing" });
    for (let tries = 0; ; tries++) {
      try {
        return await this.#claimed(await finish(store));
      } catch (error) {
        if (!mayCome(error)) return this.#refused(error);
        if (this.#state.kind === "offer") this.#to({ ...this.#state, step: "waiting" });
        await this.#pause(Math.max(retryAfter(error), Math.min(longestWait, 500 * 2 ** tries)));
      }
    }
  }

  async #claimed(bound: readonly Held[]): Promise<void> {
    const code = this.#code;
    const another = code !== undefined && bound[0] !== undefined && (await linkID(code)) !== bound[0].link;
    const fresh = new Set(bound.map(({ ticket }) => ticket));
    const rest = this.#show?.held.filter(({ ticket }) => !fresh.has(ticket)) ?? [];
    this.#show?.take([...rest, ...bound].sort(byDoors), [...fresh]);
    void keepForLong();
    // An earlier claim was finished while the guest opened another link.
    if (another) return this.#look(code);
    forgetCode();
    this.#code = undefined;
    if (!this.#tickets()) this.#to({ kind: "no_link" });
  }

  async #refused(error: unknown): Promise<void> {
    const offer = this.#code === undefined ? undefined : await api.offer(this.#code).catch(() => undefined);
    if (offer !== undefined && linkStands(offer) !== "ready") this.#offer(offer);
    else if (this.#code !== undefined || !this.#tickets()) this.#to({ kind: "link_failed", why: whyFailed(error) });
  }

  /** Has digits mailed that move the tickets of the link here. */
  async #move(state: OfferState): Promise<void> {
    if (this.#code === undefined || movable(state.offer).length === 0) return;
    this.#to({ ...state, step: "mailing" });
    await this.#moving.mail(this.#code, state.offer);
  }

  // The gate's code.

  async #scan(): Promise<void> {
    const drawing = this.#drawing;
    if (drawing === undefined) return;
    this.#show?.pause();
    this.#to({ kind: "camera", camera: "starting", other: false });
    const reading = await import("./reading.js").catch(() => undefined);
    if (this.#state.kind !== "camera") return;
    // Without network it is there only once the service worker has it.
    if (reading === undefined) return this.#lookout({ camera: "failed" });
    this.#camera = reading.look(
      drawing.video,
      (code) => {
        this.#show?.answer(code.nonce, code.accepted_for);
        this.#stopScan();
      },
      () => this.#lookout({ other: true }),
      (camera) => this.#lookout({ camera }),
    );
  }

  #lookout(change: { readonly camera?: CameraState; readonly other?: boolean }): void {
    if (this.#state.kind === "camera") this.#to({ ...this.#state, ...change });
  }

  #stopScan(): void {
    const camera = this.#camera;
    this.#camera = undefined;
    this.#tickets();
    camera?.stop();
  }

  // The page itself.

  #watch(): void {
    document.addEventListener("visibilitychange", () => this.#visible(document.visibilityState === "visible"));
    window.addEventListener("hashchange", () => {
      if (location.hash.length > 1 && !this.#busy()) void this.#open();
    });
    window.addEventListener("online", () => {
      this.#wake?.();
      if (this.#state.kind === "tickets") this.#show?.resume();
    });
    window.addEventListener("offline", () => {
      if (this.#state.kind === "tickets") this.#show?.doubt();
    });
    for (const name of ["pointerdown", "keydown"]) document.addEventListener(name, () => this.#show?.touch());
    document.addEventListener("keydown", (event) => {
      if (this.#state.kind === "camera" && event.key === "Escape") this.#stopScan();
      if (this.#state.kind !== "tickets" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "ArrowRight") this.#show?.turn(1);
      if (event.key === "ArrowLeft") this.#show?.turn(-1);
    });
  }

  #visible(visible: boolean): void {
    if (!visible) {
      this.#show?.sleep();
      if (this.#state.kind === "camera") this.#stopScan();
      this.#show?.pause();
      return;
    }
    this.#show?.woke();
    if (this.#state.kind === "tickets") this.#show?.resume();
    else if (this.#state.kind === "offer" && this.#state.step === "ask" && this.#code !== undefined) void this.#again(this.#code);
  }

  /** A link that could not be used when it was opened may be good by now. */
  async #again(code: string): Promise<void> {
    const offer = await api.offer(code).catch(() => undefined);
    if (offer !== undefined && this.#state.kind === "offer" && this.#state.step === "ask") this.#to({ ...this.#state, offer });
  }

  /** A link that is opened meanwhile has to wait. */
  #busy(): boolean {
    const { kind } = this.#state;
    const sending = (this.#state.kind === "offer" || this.#state.kind === "move") && this.#state.step !== "ask";
    return kind === "camera" || kind === "finishing" || sending;
  }

  #redraw(): void {
    const state = this.#show?.state();
    if (this.#state.kind === "tickets" && state !== undefined) this.#to(state);
  }

  #to(state: State): void {
    this.#state = state;
    this.#drawing?.draw(state);
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  acts(): Acts {
    return {
      claim: () => {
        if (this.#state.kind === "offer" && this.#state.step === "ask") void this.#claim(this.#state);
      },
      retry: () => {
        this.#to({ kind: "loading" });
        void this.#open();
      },
      copyLink: () => void this.#copy(),
      calendar: () => {
        if (this.#state.kind === "offer") download(calendar(claimEntry(this.#state.offer, this.#words)), "portillon.ics");
      },
      move: () => {
        if (this.#state.kind === "offer" && this.#state.step === "ask") void this.#move(this.#state);
      },
      moveGo: (digits) => void this.#moving.confirm(digits),
      moveAgain: () => void this.#moving.again(),
      notMe: () => {
        if (this.#state.kind === "not_me") void this.#moving.stop(this.#state);
      },
      toTickets: () => void this.#tickets(),
      turn: (by) => this.#show?.turn(by),
      showEarly: () => this.#show?.showEarly(),
      shortCode: () => void this.#show?.shortCode(),
      scanGate: () => void this.#scan(),
      stopScan: () => this.#stopScan(),
      wakeCamera: () => void (this.#camera?.start() ?? this.#scan()),
    };
  }

  async #copy(): Promise<void> {
    if (this.#code === undefined) return;
    const copied = await navigator.clipboard.writeText(linkOf(this.#code)).then(
      () => true,
      () => false,
    );
    if (this.#state.kind === "offer") this.#to({ ...this.#state, copied });
  }
}

/** Asks the browser not to clear keys away when space runs short. */
async function keepForLong(): Promise<void> {
  await (navigator.storage as StorageManager | undefined)?.persist().catch(() => false);
}
