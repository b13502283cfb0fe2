// Data in words, in the language of the page and the clock of the venue.
// Nothing here touches the document.

import type { Key, Messages, Values } from "../shared/messages.js";
import type { Act, Admission, Event, Policy } from "./answers.js";
import type { Moment } from "./life.js";
import { fault } from "./orders.js";
import type { Form, Trouble } from "./state.js";

/** A moment of a ticket's life as it is written down. */
export interface Line {
  readonly title: string;
  readonly by: string;
  readonly more: readonly string[];
  readonly undone: boolean;
}

export class Phrases {
  readonly #messages: Messages;
  readonly #hereZone: string;

  constructor(messages: Messages, hereZone = Intl.DateTimeFormat().resolvedOptions().timeZone) {
    this.#messages = messages;
    this.#hereZone = hereZone;
  }

  say(key: Key, values: Values = {}): string {
    return this.#messages.say(key, values);
  }

  /** A word of the server's, or itself when this catalogue is older than the server. */
  word(prefix: string, word: string, values: Values = {}): string {
    return this.#messages.look(`${prefix}.${word}`, values) ?? word;
  }

  number(value: number): string {
    return new Intl.NumberFormat(this.#messages.language).format(value);
  }

  list(words: readonly string[]): string {
    return new Intl.ListFormat(this.#messages.language, { type: "conjunction" }).format(words);
  }

  /** What a trouble means and what to do next. */
  trouble({ code, detail, facts, retryAfter }: Trouble): string {
    const values: Record<string, string | number> = { count: retryAfter };
    for (const [name, value] of Object.entries(facts)) {
      if (typeof value === "string") values[name] = name === "status" ? this.word("desk.status", value) : value;
      // A number of a ticket is a name and has no thousands.
      if (typeof value === "number") values[name] = String(value);
    }
    const known = this.#messages.look(`desk.problem.${code}`, values) ?? this.#messages.look(`error.${code}`, values);
    return known ?? (detail === "" ? this.say("error.internal") : detail);
  }

  /** What is wrong with a field, if anything is. */
  fault(form: Form, name: string): string | undefined {
    const code = fault(form.trouble, name);
    if (code === undefined) return undefined;
    const values = Object.fromEntries(Object.entries(form.trouble?.facts ?? {}).map(([fact, value]) => [fact, String(value)]));
    return this.#messages.look(`desk.field.${name}.${code}`, values) ?? this.#messages.look(`desk.field.${code}`, values) ?? code;
  }

  /** The zone of the times on this page, where the laptop lives in another; said once, not with every time. */
  foreign(zone: string): string | undefined {
    return zone === this.#hereZone ? undefined : this.say("desk.zone_note", { zone });
  }

  time(at: string | Date, zone: string): string {
    return this.#format(at, zone, { hour: "numeric", minute: "2-digit" });
  }

  day(at: string | Date, zone: string): string {
    return this.#format(at, zone, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
  }

  /** Day and time, to the second where things happen fast. */
  moment(at: string | Date, zone: string, seconds = false): string {
    return this.#format(at, zone, { day: "numeric", month: "short", hour: "numeric", minute: "2-digit", ...(seconds && { second: "2-digit" }) });
  }

  #format(at: string | Date, zone: string, options: Intl.DateTimeFormatOptions): string {
    return new Intl.DateTimeFormat(this.#messages.language, { ...options, timeZone: zone }).format(new Date(at));
  }

  /** Doors, start and end of an event in one line, without its day. */
  hours({ doors_open_at, starts_at, ends_at, time_zone }: Pick<Event, "doors_open_at" | "starts_at" | "ends_at" | "time_zone">): string {
    const time = (at: string) => this.time(at, time_zone);
    return this.say("desk.hours", { doors: time(doors_open_at), start: time(starts_at), end: time(ends_at) });
  }

  /** An event's policy, in the words of the form that made it. */
  policy(policy: Policy): readonly string[] {
    const rescan = this.word("desk.rescan_short", policy.rescan, { count: Math.round(policy.rescan_window_s / 60) });
    return [this.word("desk.freshness_short", policy.freshness), rescan, ...(policy.reentry ? [this.say("desk.reentry_short")] : [])];
  }

  line(moment: Moment): Line {
    if (moment.kind === "act") return this.#act(moment.act);
    const { people, direction, gate_name, person_name, device_name, kind, path, reason } = moment.admission;
    const how = [this.word("desk.kind", kind), ...(path === "ordinary" ? [] : [this.word("desk.path", path)])];
    const by = [person_name, device_name].filter((name): name is string => name !== undefined && name !== "").join(" · ");
    return {
      title: this.say(direction === "in" ? "desk.let_in" : "desk.let_out", { count: people, gate: gate_name }),
      by,
      more: [how.join(" · "), ...(reason === undefined || reason === "" ? [] : [`“${reason}”`]), ...this.#takenBack(moment.admission)],
      undone: moment.admission.undone !== undefined,
    };
  }

  #takenBack({ undone, shown_at }: Admission): readonly string[] {
    if (undone === undefined) return [];
    if (undone.superseded_by === undefined) return [this.say("desk.taken_back", { who: undone.person_name ?? "–", reason: undone.reason })];
    // A receipt that came after all: the guest may have been let in there too.
    return [this.say("desk.superseded"), ...(shown_at === undefined ? [] : [this.say("desk.shown_late")])];
  }

  #act({ act, actor, person_name, device_name, reason, details }: Act): Line {
    const named = [person_name, device_name].filter((name): name is string => name !== undefined && name !== "").join(" · ");
    const browser = details?.["browser"];
    const replaced = details?.["replaced"];
    return {
      title: this.word("desk.act", act),
      by: named === "" ? this.word("desk.actor", actor) : named,
      more: [
        ...(typeof browser === "string" && browser !== "" ? [browser] : []),
        ...(typeof replaced === "string" ? [this.word("desk.replaced", replaced)] : []),
        ...(reason === undefined || reason === "" ? [] : [`“${reason}”`]),
      ],
      undone: false,
    };
  }
}
