// Sentences and times for a wallet. Times are the venue's, and its zone is
// named where the phone lives in another.

import type { Key, Messages, Values } from "../shared/messages.js";
import type { Offered, Standing } from "./answers.js";
import { spelled } from "./short.js";
import { remaining } from "./stack.js";
import type { Face, Notice, Short, TicketState } from "./state.js";

export class Words {
  readonly #messages: Messages;
  readonly #phoneZone: string;

  constructor(messages: Messages, phoneZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
    this.#messages = messages;
    this.#phoneZone = phoneZone;
  }

  say(key: Key, values: Values = {}): string {
    return this.#messages.say(key, values);
  }

  /** The time of day; `now` (milliseconds) decides whether the day is said too. */
  time(at: string, zone: string, now: number): string {
    const day = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
    const another = day.format(new Date(at)) !== day.format(new Date(now));
    return this.#format(zone, { hour: "numeric", minute: "2-digit", ...(another && { weekday: "short", day: "numeric", month: "short" }), ...this.#zone(zone, at) }, at);
  }

  /** A time of the same day as one whose zone is said beside it. */
  bare(at: string, zone: string): string {
    return this.#format(zone, { hour: "numeric", minute: "2-digit" }, at);
  }

  /** The day in full. */
  day(at: string | number, zone: string): string {
    return this.#format(zone, { weekday: "long", day: "numeric", month: "long", year: "numeric" }, at);
  }

  /** The time of day with seconds, for the band that shows that the page is alive. */
  clock(at: number, zone: string): string {
    return this.#format(zone, { timeStyle: "medium" }, at);
  }

  #format(zone: string, options: Intl.DateTimeFormatOptions, at: string | number): string {
    return new Intl.DateTimeFormat(this.#messages.language, { timeZone: zone, ...options }).format(new Date(at));
  }

  // Names of zones are long and rarely needed: only where the hour differs.
  #zone(zone: string, at: string): Intl.DateTimeFormatOptions {
    const hour = (timeZone: string) => new Intl.DateTimeFormat("en", { timeZone, dateStyle: "short", timeStyle: "short" }).format(new Date(at));
    return hour(zone) === hour(this.#phoneZone) ? {} : { timeZoneName: "short" };
  }

  /** What tells one ticket from another: kind, seat and number. */
  ticket({ category, seat, number, admits }: Pick<Standing, "category" | "seat" | "number" | "admits">): string {
    const people = admits > 1 ? this.say("wallet.admits", { count: admits }) : "";
    return [category, seat, this.say("wallet.number", { number: String(number) }), people].filter((part) => part !== "").join(" · ");
  }

  /** Why a ticket of a link cannot be put here, or "" when it can. */
  offered(ticket: Offered, zone: string, now: number): string {
    if (ticket.status !== "active") return this.say(`wallet.offer_${ticket.status}`);
    if (ticket.claimable) return ticket.paper ? this.say("wallet.offer_printed") : "";
    if (ticket.claimed === false) return "";
    const { at, browser } = ticket.claimed;
    const time = this.time(at, zone, now);
    return browser === "" ? this.say("wallet.offer_taken", { time }) : this.say("wallet.offer_taken_by", { time, browser });
  }

  /** The status line: one sentence on what the card shows. */
  status(state: TicketState): string {
    const { face, ticket, now } = state;
    switch (face.kind) {
      case "code":
        return this.#codeStatus(face);
      case "waiting":
        return this.say("wallet.doors_open", { time: this.time(ticket.event.doors_open_at, ticket.event.time_zone, now) });
      case "welcome":
        if (face.remaining > 0) return this.say("wallet.remaining", { count: face.remaining });
        return face.more ? this.say("wallet.next_comes") : this.say("wallet.enjoy");
      case "used":
        return this.#used(ticket, now);
      default:
        return this.say(`wallet.${face.kind}`);
    }
  }

  #codeStatus(face: Extract<Face, { kind: "code" }>): string {
    switch (face.source) {
      case undefined:
        return this.say("wallet.code_coming");
      case "pushed":
        return this.say("wallet.live");
      case "shown":
        return this.say("wallet.answer");
      case "timed":
        return this.say(`wallet.timed_${face.why ?? "silent"}`);
    }
  }

  #used(ticket: Standing, now: number): string {
    if (ticket.admitted === undefined) return this.say("wallet.used");
    return this.say("wallet.used_at", { time: this.time(ticket.admitted.at, ticket.event.time_zone, now), gate: ticket.admitted.gate });
  }

  notice(notice: Notice): string {
    if (notice.kind !== "wrong_gate") return this.say(`wallet.${notice.kind}`);
    const gates = new Intl.ListFormat(this.#messages.language, { type: "disjunction" }).format(notice.gates);
    return gates === "" ? this.say("wallet.wrong_gate") : this.say("wallet.wrong_gate_to", { gates });
  }

  /** What is said of a short code, digit by digit and without its seconds; "" before it is asked for. */
  short(short: Short): string {
    switch (short.kind) {
      case "offered":
        return "";
      case "asked":
        return this.say("wallet.short_coming");
      case "failed":
        return this.say("wallet.short_failed");
      case "refused":
        return this.say("wallet.own_refused");
      case "shown":
        return this.say("wallet.short_spoken", { digits: spelled(short.code) });
      case "own": // the digits change; whoever wants to hear them goes there
        return this.say("wallet.own_how", { number: String(short.number) });
    }
  }

  /** What a screen reader is told: states, never the rotation of codes. */
  spoken(state: TicketState): string {
    const { face, notice, ticket, position, count } = state;
    const parts = [
      count > 1 ? this.say("wallet.position", { at: position, count }) : "",
      face.kind === "welcome" ? this.say("wallet.welcome") : "",
      notice === undefined ? "" : this.notice(notice),
      this.status(state),
      face.kind === "code" && face.short !== undefined ? this.short(face.short) : "",
      face.kind === "code" && ticket.admits > 1 ? this.say("wallet.remaining", { count: remaining(ticket) }) : "",
    ];
    return parts.filter((part) => part !== "").join(" ");
  }
}
