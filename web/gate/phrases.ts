// An answer in words. Times are the venue's, ages the server's: the device's
// clock is not believed. Nothing here touches the document.

import type { Key, Messages } from "../shared/messages.js";
import type { Answer, Class, FirstUse, Ticket } from "./answers.js";
import { classOf, type Shown } from "./screen.js";
import type { Trouble } from "./state.js";

/** An answer as it is drawn. */
export interface View {
  readonly class: Class;
  readonly reason: string;
  readonly title: string;
  /** Screen and seat, the largest words after the colour. */
  readonly place: readonly string[];
  /** Category, number, holder. */
  readonly facts: readonly string[];
  readonly lines: readonly string[];
  readonly attention?: string;
  readonly advice: string;
  readonly buttons: readonly Button[];
  /** Said of what this device decided without network. */
  readonly alone?: string;
}

/** A button of the answer itself: the same scan again with one thing more. */
export type Button =
  | { readonly kind: "people"; readonly people: number; readonly all: boolean }
  | { readonly kind: "phone_offline" }
  | { readonly kind: "override" };

export class Phrases {
  readonly #messages: Messages;
  readonly #deviceZone: string;

  constructor(messages: Messages, deviceZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
    this.#messages = messages;
    this.#deviceZone = deviceZone;
  }

  say(key: Key, values: Readonly<Record<string, string | number>> = {}): string {
    return this.#messages.say(key, values);
  }

  /** What to say of a trouble: the gate's own sentence, the common one, or the server's words. */
  trouble({ code, detail, tries_left }: Trouble): string {
    const values = tries_left === undefined ? {} : { count: tries_left };
    const known = this.#messages.look(`gate.problem.${code}`, values) ?? this.#messages.look(`error.${code}`, values);
    return known ?? (detail === undefined || detail === "" ? this.say("error.internal") : detail);
  }

  /** How long ago, roughly, as people say it. */
  ago(seconds: number): string {
    const format = new Intl.RelativeTimeFormat(this.#messages.language, { style: "short" });
    const say = (value: number, unit: "second" | "minute" | "hour") => format.format(-value, unit).replaceAll(".", "");
    if (seconds < 60) return say(Math.max(1, Math.round(seconds)), "second");
    return seconds < 3600 ? say(Math.floor(seconds / 60), "minute") : say(Math.floor(seconds / 3600), "hour");
  }

  /** The time of day in a zone, which is named where the device lives in another. `now` decides whether the day is said too. */
  time(at: string, zone: string, now: string): string {
    const day = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
    const another = day.format(new Date(at)) !== day.format(new Date(now));
    return new Intl.DateTimeFormat(this.#messages.language, {
      timeZone: zone,
      hour: "numeric",
      minute: "2-digit",
      ...(another && { weekday: "short", day: "numeric", month: "short" }),
      ...(zone !== this.#deviceZone && { timeZoneName: "short" }),
    }).format(new Date(at));
  }

  /** A clock time with seconds, to tell one scan from another. */
  clock(at: string, zone: string): string {
    return new Intl.DateTimeFormat(this.#messages.language, { timeZone: zone, timeStyle: "medium" }).format(new Date(at));
  }

  /** The hour and minute in a zone. */
  clockShort(at: string, zone: string): string {
    return new Intl.DateTimeFormat(this.#messages.language, { timeZone: zone, timeStyle: "short" }).format(new Date(at));
  }

  view(shown: Shown): View {
    if (shown.kind === "answer") return this.#answer(shown.answer);
    if (shown.kind === "problem") {
      const trouble = this.trouble(shown);
      return { ...bare, class: classOf(shown), reason: "problem", title: this.say("gate.not_decided"), lines: [trouble], advice: "" };
    }
    const { reason, what } = shown;
    return {
      ...bare,
      class: classOf(shown),
      reason,
      title: this.#messages.look(`reason.${reason}`) ?? reason,
      lines: this.#what(what),
      // What a scanner sent by mistake says itself what to do.
      advice: reason === "malformed" && what !== undefined ? "" : (this.#messages.look(`advice.${reason}`) ?? ""),
    };
  }

  /** A reason's title alone. */
  reason(reason: string): string {
    return this.#messages.look(`reason.${reason}`) ?? reason;
  }

  /** The answer in one line, for the strip and for screen readers. */
  line(shown: Shown): string {
    const view = this.view(shown);
    const more = [view.attention, view.alone].filter((word) => word !== undefined);
    return [view.title, ...view.place, ...more].join(" · ");
  }

  #answer(answer: Answer): View {
    const { reason, ticket } = answer;
    const attention = this.#attention(answer);
    return {
      class: answer.class,
      reason,
      title: this.#title(answer),
      place: ticket === undefined ? [] : [ticket.screen, ticket.seat].filter((word) => word !== ""),
      facts: ticket === undefined ? [] : this.#facts(ticket),
      lines: this.#lines(answer),
      ...(attention !== undefined && { attention }),
      advice: this.#advice(answer),
      ...(answer.alone !== undefined && { alone: this.say("gate.alone") }),
      buttons: buttons(answer),
    };
  }

  #advice({ reason, advice, alone }: Answer): string {
    if (advice !== "") return advice;
    const without = alone === undefined ? undefined : this.#messages.look(`gate.alone_advice.${alone === "no_data" ? alone : reason}`);
    return without ?? this.#messages.look(`advice.${reason}`) ?? "";
  }

  #title({ reason, title, people, direction, alone }: Answer): string {
    if (alone === "no_data" && reason === "not_in_pack") return this.say("gate.alone_no_data");
    if (reason === "admitted" && direction === "out") return this.say("gate.let_out", { count: people ?? 1 });
    if (reason === "admitted" && people !== undefined && people > 1) return this.say("gate.admit_people", { count: people });
    return this.#messages.look(`reason.${reason}`) ?? title;
  }

  #facts({ category, number, holder }: Ticket): readonly string[] {
    const facts = [category, this.say("gate.number", { number: String(number) })];
    return holder === undefined || holder === "" ? facts : [...facts, holder];
  }

  #attention(answer: Answer): string | undefined {
    if (answer.reason !== "admitted") return undefined;
    if (answer.first_use !== undefined) {
      return this.say("gate.recovered", { gate: answer.first_use.gate_name, ago: this.ago(answer.first_use.seconds_ago) });
    }
    if (answer.moved_at === undefined) return undefined;
    return this.say("gate.moved_ago", { ago: this.ago(between(answer.moved_at, answer.server_time)) });
  }

  #lines(answer: Answer): readonly string[] {
    const lines = answer.first_use === undefined || answer.reason === "admitted" ? [] : this.#firstUse(answer.first_use, answer.kind);
    const more = this.#more(answer);
    return [...lines, ...more, ...(answer.replayed ? [this.say("gate.replayed")] : [])];
  }

  #firstUse(use: FirstUse, kind: string | undefined): readonly string[] {
    const same: Key = !use.same_claim ? "gate.other_claim" : kind === "paper" ? "gate.same_paper" : use.same_nonce ? "gate.same_code" : "gate.fresh_code";
    const line = [this.say("gate.used_ago", { ago: this.ago(use.seconds_ago) }), use.gate_name, use.person, this.say(same)];
    const photographed = use.same_claim && !use.same_nonce && !use.same_device && kind !== "paper";
    return [line.filter((word) => word !== "").join(" · "), ...(photographed ? [this.say("gate.photographed")] : [])];
  }

  #more(answer: Answer): readonly string[] {
    const { reason, ticket, server_time: now } = answer;
    const zone = ticket?.time_zone ?? "UTC";
    const time = (at: string) => this.time(at, zone, now);
    switch (reason) {
      case "admitted": {
        const left = answer.remaining ?? 0;
        return [...(ticket === undefined ? [] : [`${ticket.event_name} · ${time(ticket.starts_at)}`]), ...(left > 0 ? [this.say("gate.remaining", { count: left })] : [])];
      }
      case "wrong_event":
        if (ticket === undefined) return [];
        return [
          [ticket.event_name, ticket.venue_name].join(" · "),
          this.say("gate.doors_and_start", { doors: time(ticket.doors_open_at), start: time(ticket.starts_at) }),
        ];
      case "wrong_gate":
        return [(answer.gates ?? []).map((gate) => gate.name).join(" · ")].filter((line) => line !== "");
      case "too_early":
        return answer.not_before === undefined ? [] : [this.say("gate.from", { time: time(answer.not_before) })];
      case "too_late":
        return answer.not_after === undefined ? [] : [this.say("gate.until", { time: time(answer.not_after) })];
      case "clock_skew":
        return this.#skew(answer.seconds_skew ?? 0);
      case "moved":
        return answer.moved_at === undefined ? [] : [this.say("gate.moved_ago", { ago: this.ago(between(answer.moved_at, now)) })];
      case "not_a_ticket":
        return this.#what(answer.is);
      case "choose_people":
        return [this.say("gate.remaining", { count: answer.remaining ?? 0 })];
      default:
        return [];
    }
  }

  #skew(seconds: number): readonly string[] {
    const count = Math.max(1, Math.round(Math.abs(seconds) / 60));
    return [this.say(seconds > 0 ? "gate.clock_ahead" : "gate.clock_behind", { count })];
  }

  #what(what: string | undefined): readonly string[] {
    const sentence = what === undefined ? undefined : this.#messages.look(`gate.what.${what}`);
    return sentence === undefined ? [] : [sentence];
  }
}

const bare = { place: [], facts: [], lines: [], buttons: [] } as const;

/** The buttons that an answer brings along: everybody first, then each smaller number. */
export function buttons(answer: Answer): readonly Button[] {
  if (answer.reason === "needs_assist") return [{ kind: "phone_offline" }];
  if (answer.actions.includes("override")) return [{ kind: "override" }];
  if (answer.reason !== "choose_people") return [];
  const left = answer.remaining ?? 0;
  return Array.from({ length: left }, (_, i) => {
    const people = i === 0 ? left : i;
    return { kind: "people", people, all: i === 0 };
  });
}

/** Seconds from one time to another. */
function between(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}
