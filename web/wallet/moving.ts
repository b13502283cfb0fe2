// Taking tickets from the phone that has them: digits are mailed to their holder,
// typed here, and sent with fresh keys. And the page behind the mail about it, on
// which the holder says that it was somebody else.

import { Problem } from "../shared/api.js";
import { api, type MovedAway, type Offer, type Offered } from "./answers.js";
import { CannotKeep, confirm, mayCome, prepare, retryAfter, whyFailed } from "./claiming.js";
import { awaitedDigits, awaitDigits, forgetDigits } from "./link.js";
import { movable } from "./stack.js";
import type { MoveState, MoveTrouble, NotMeState, State } from "./state.js";
import type { Held, Store } from "./store.js";

/** How long a move without an answer waits before it is sent again, in milliseconds. */
const longestWait = 5_000;

/** What the page does for a move. */
export interface Mover {
  to(state: State): void;
  /** The tickets of this phone. */
  held(): readonly Held[];
  /** The tickets are here now. */
  took(bound: readonly Held[]): Promise<void>;
  /** It came to nothing: look at the link again. */
  look(code: string): Promise<void>;
  pause(milliseconds: number): Promise<void>;
}

export class Moving {
  readonly #page: Mover;
  readonly #store: Store | undefined;
  #code = "";
  #state: MoveState | undefined;

  constructor(store: Store | undefined, page: Mover) {
    this.#store = store;
    this.#page = page;
  }

  /** Whether digits were mailed for this link a short while ago: then they are asked for at once, since whoever reads a mail leaves this page. */
  resume(code: string, offer: Offer): boolean {
    const to = awaitedDigits();
    if (to === undefined || this.#wanted(offer).length === 0) return false;
    this.#code = code;
    this.#type({ kind: "move", offer, to, digits: "", step: "ask", trouble: undefined });
    return true;
  }

  /** Has digits mailed, and asks for them. */
  async mail(code: string, offer: Offer): Promise<void> {
    this.#code = code;
    const before = this.#state?.digits ?? "";
    try {
      const { to } = await api.move(code);
      awaitDigits(to);
      this.#type({ kind: "move", offer, to, digits: "", step: "ask", trouble: undefined });
    } catch (error) {
      if (error instanceof Problem && error.code === "move.too_many_mails") {
        const trouble: MoveTrouble = { kind: "many", minutes: Math.ceil(error.retryAfter / 60) };
        return this.#type({ kind: "move", offer, to: offer.move_to, digits: before, step: "ask", trouble });
      }
      if (error instanceof Problem && !mayCome(error)) return this.#page.look(code);
      this.#page.to({ kind: "link_failed", why: whyFailed(error) });
    }
  }

  /** Other digits, while the page asks for them. */
  async again(): Promise<void> {
    if (this.#state?.step === "ask") await this.mail(this.#code, this.#state.offer);
  }

  /** Moves the tickets here by these digits, however often that must be sent. */
  async confirm(typed: string): Promise<void> {
    const state = this.#state;
    if (state?.step !== "ask") return;
    const digits = typed.replace(/\D/g, "");
    if (digits.length !== 8) return this.#type({ ...state, digits: typed, trouble: { kind: "eight" } });
    if (this.#store === undefined) return this.#page.to({ kind: "cannot_keep" });
    this.#type({ ...state, digits, step: "checking", trouble: undefined });
    try {
      await prepare(this.#store, this.#code, this.#wanted(state.offer));
    } catch (error) {
      if (!(error instanceof CannotKeep)) throw error;
      return this.#page.to({ kind: "cannot_keep" });
    }
    await this.#send(this.#store, { ...state, digits });
  }

  async #send(store: Store, state: MoveState): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        const bound = await confirm(store, state.digits);
        forgetDigits();
        this.#state = undefined;
        return await this.#page.took(bound);
      } catch (error) {
        if (!mayCome(error)) return this.#refused(store, state, error);
        this.#type({ ...state, step: "waiting", trouble: undefined });
        await this.#page.pause(Math.max(retryAfter(error), Math.min(longestWait, 500 * 2 ** tries)));
      }
    }
  }

  /** The keys were bound to nothing: the next try makes others. */
  async #refused(store: Store, state: MoveState, error: unknown): Promise<void> {
    if (!(error instanceof Problem)) throw error;
    await store.end().catch(() => undefined);
    if (error.code === "move.code_wrong") {
      const left = Number(error.facts["tries_left"] ?? 0);
      return this.#type({ ...state, trouble: left > 0 ? { kind: "wrong", left } : { kind: "ended" } });
    }
    if (error.code === "move.code_ended") return this.#type({ ...state, digits: "", trouble: { kind: "ended" } });
    forgetDigits();
    this.#state = undefined;
    await this.#page.look(this.#code);
  }

  /** What another phone has of the link's tickets, and digits would move. */
  #wanted(offer: Offer): readonly Offered[] {
    const here = new Set(this.#page.held().flatMap(({ ticket, state }) => (state === "moved" ? [] : [ticket])));
    return movable(offer).filter(({ ticket }) => !here.has(ticket));
  }

  #type(state: MoveState): void {
    this.#state = state;
    this.#page.to(state);
  }

  // Not me.

  /** Shows a move to the holder who was mailed about it. */
  async show(code: string): Promise<void> {
    this.#code = code;
    try {
      this.#page.to({ kind: "not_me", moved: await api.moved(code), step: "ask" });
    } catch (error) {
      this.#page.to({ kind: "link_failed", why: whyFailed(error) });
    }
  }

  /** Puts the tickets on hold. */
  async stop(state: NotMeState): Promise<void> {
    if (state.step !== "ask" && state.step !== "unreachable") return;
    this.#page.to({ ...state, step: "sending" });
    try {
      this.#page.to({ kind: "not_me", moved: await api.notMe(this.#code), step: "ask" });
    } catch (error) {
      this.#page.to({ ...state, step: mayCome(error) ? "unreachable" : whyNotStopped(error) });
    }
  }
}

function whyNotStopped(error: unknown): "late" | "settled" {
  if (!(error instanceof Problem)) throw error;
  return error.code === "move.doors_open" ? "late" : "settled";
}

/** What the page about a move may say now. */
export function canStop(moved: MovedAway): boolean {
  return moved.tickets.some((ticket) => ticket.stoppable);
}
