// From filled-in forms to the bodies of calls.

import type { Trouble } from "./state.js";
import { showing } from "./when.js";

type Values = Readonly<Record<string, string>>;

/** A trouble of our own: fields that cannot be sent. */
export function missing(fields: readonly { readonly name: string; readonly code: string }[]): Trouble {
  return { code: "request.fields", detail: "", status: 400, facts: {}, fields, retryAfter: 0 };
}

/** A whole number, or what the server refuses as one with its own code. */
function number(text: string | undefined, fallback: number): number {
  const trimmed = (text ?? "").trim();
  if (trimmed === "") return fallback;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : -1;
}

/** Seats as they are typed: separated by commas, semicolons or lines. */
export function seats(text: string): readonly string[] {
  return text
    .split(/[,;\n]/)
    .map((seat) => seat.trim())
    .filter((seat) => seat !== "");
}

/** POST /v1/events/{event}/tickets. Several seats are as many tickets, unless a number says otherwise. */
export function tickets(values: Values, lease?: string): object {
  const named = seats(values["seat"] ?? "");
  const count = number(values["count"], 1);
  return {
    ...(lease !== undefined && { lease }),
    category: values["category"] ?? "",
    holder: { name: values["holder.name"] ?? "", email: (values["holder.email"] ?? "").trim() },
    external_id: values["external_id"] ?? "",
    ...(named.length === 1 && { seat: named[0] }),
    ...(named.length > 1 && { seats: named }),
    ...((named.length < 2 || count !== 1) && { count }),
  };
}

/** POST /v1/events, or the fields that are missing. `now` is from when a link works "at once". */
export function event(values: Values, venue: string, zone: string, now: Date): object | Trouble {
  const of = (name: string) => values[name] ?? "";
  const times = showing(zone, of("date"), of("doors_open_at"), of("starts_at"), of("ends_at"));
  if (!("doors" in times)) return missing(times.map((name) => ({ name, code: "required" })));
  return {
    venue,
    name: of("name"),
    screen: of("screen"),
    doors_open_at: times.doors.toISOString(),
    starts_at: times.start.toISOString(),
    ends_at: times.end.toISOString(),
    ...(of("claim_from") === "at_once" && { claim_from: now.toISOString() }),
    policy: {
      freshness: of("policy.freshness"),
      rescan: of("policy.rescan"),
      rescan_window_s: number(of("policy.rescan_window_s"), 5) * 60,
      reentry: of("policy.reentry") === "yes",
      show_names: of("policy.show_names") === "yes",
    },
  };
}

/** POST /v1/events/{event}/categories. No gate ticked is every gate. */
export function category(values: Values): object {
  const gates = Object.entries(values).flatMap(([name, value]) => (name.startsWith("gate:") && value === "yes" ? [name.slice("gate:".length)] : []));
  return { name: values["name"] ?? "", admits: number(values["admits"], 1), paper: values["paper"] === "yes", gates };
}

/** Tells a body from the trouble that there was in making it. */
export function isTrouble(value: object): value is Trouble {
  return "fields" in value && "code" in value;
}

/** The code of a field's fault, if this field is at fault; `seats[3]` is the fault of `seat`. */
export function fault(trouble: Trouble | undefined, name: string): string | undefined {
  const plain = (text: string) => text.replace(/^seats(\[\d+\])?$/, "seat").replace(/^gates$/, "gate");
  return trouble?.fields.find((field) => plain(field.name) === name)?.code;
}
