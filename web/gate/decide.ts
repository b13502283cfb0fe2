// The decision of a device without network: the same checks in the same order as
// the server's (server/ticket/decide.go), by what its pack and its own scans tell.
// It knows no clock, no page and no store. Both sides judge one set of cases.

import type { Class } from "./answers.js";
import type { PackCategory, PackEvent, PackTicket } from "./pack.js";

/** What somebody presented, and how the controller took it. */
export interface Presented {
  readonly signs: "nonce" | "time" | "paper";
  readonly generation: number;
  readonly direction: "in" | "out";
  /** 0 when nobody said. */
  readonly people: number;
  readonly phone_offline: boolean;
}

/** What the device knows of it. Times are Unix milliseconds by the server's clock, as far as the device knows that. */
export interface Facts {
  readonly now: number;
  readonly gate: string;
  /** Undefined: not in the pack. */
  readonly ticket: PackTicket | undefined;
  readonly event: PackEvent;
  readonly category: PackCategory;
  /** Whether the signature verifies; not asked where `checkable` says no. */
  readonly signature_good: boolean;
  /** When the device's own nonce that the code signs was made; undefined when it signs another. */
  readonly nonce_at: number | undefined;
  /** When the phone signed, by its own clock. */
  readonly issued_at: number | undefined;
  /** The same proof made this passage before (events with re-entry). */
  readonly proof_used: boolean;
  /** This device let in under the scan's key before, and its answer was seen by nobody. */
  readonly same_key: Passage | undefined;
  /** The last entry, where this device knows of it. */
  readonly used_at: number | undefined;
}

/** People who went in or out, and the ticket's counts after it. */
export interface Passage {
  readonly direction: "in" | "out";
  readonly people: number;
  readonly entries: number;
  readonly inside: number;
}

/** Who may let in against a reason: server/ticket/reasons.go. */
export type Override = "nobody" | "button" | "controller" | "supervisor";

export interface Decision {
  readonly reason: string;
  readonly verdict: "admit" | "refuse" | "retry";
  readonly class: Class;
  readonly override: Override;
  readonly replayed: boolean;
  readonly people: number;
  readonly remaining: number;
  /** Of clock_skew: milliseconds that the phone is ahead. */
  readonly skew?: number;
  /** Of too_early and too_late: the time that it is about. */
  readonly limit?: number;
}

/** Milliseconds that a proof is accepted: server/ticket/facts.go. */
const shownFor = 60_000;
const timedBehind = 45_000;
const timedAhead = 10_000;

const again = { verdict: "retry", class: "again", override: "nobody" } as const;
const button = { verdict: "retry", class: "ask", override: "button" } as const;
const supervisor = { verdict: "refuse", class: "ask", override: "supervisor" } as const;
const controller = { verdict: "refuse", class: "ask", override: "controller" } as const;
const late = { verdict: "refuse", class: "refuse", override: "supervisor" } as const;
const never = { verdict: "refuse", class: "refuse", override: "nobody" } as const;

/** What belongs to each reason that can occur here: the table of server/ticket/reasons.go. */
const rules: Readonly<Record<string, Pick<Decision, "verdict" | "class" | "override">>> = {
  admitted: { verdict: "admit", class: "admit", override: "nobody" },
  unknown_ticket: never,
  bad_signature: never,
  wrong_event: supervisor,
  wrong_gate: supervisor,
  stale_nonce: again,
  unknown_nonce: again,
  clock_skew: again,
  needs_assist: button,
  fallback_refused: again,
  paper_not_allowed: supervisor,
  moved: never,
  revoked: never,
  held: supervisor,
  too_early: supervisor,
  too_late: late,
  choose_people: button,
  already_used: controller,
  already_inside: controller,
  not_inside: controller,
  entries_exhausted: late,
  not_in_pack: controller,
};

/** The decision that a reason stands for. */
export function judgement(reason: string, more: Partial<Decision> = {}): Decision {
  return { reason, ...(rules[reason] ?? never), replayed: false, people: 0, remaining: 0, ...more };
}

/**
 * Whether the pack has what the code's signature is checked with. Paper is the
 * issuer's, whose keys are there; of phones only the present claim's key is.
 */
export function checkable({ signs, generation }: Presented, ticket: PackTicket): boolean {
  return signs === "paper" || generation === ticket.generation;
}

/** Judges what has the form of a ticket's code. */
export function decide(asked: Presented, facts: Facts): Decision {
  return checkClaim(asked, facts) ?? checkPlace(facts) ?? checkFreshness(asked, facts) ?? checkTicket(asked, facts) ?? checkTime(asked, facts) ?? checkUse(asked, facts);
}

function checkClaim(asked: Presented, facts: Facts): Decision | undefined {
  const { ticket } = facts;
  // Whatever is not in the pack may be newer than it.
  if (ticket === undefined || asked.generation > ticket.generation) return judgement("not_in_pack");
  if (asked.generation === ticket.generation) {
    if (ticket.key === null) return judgement("not_in_pack");
    if ((ticket.key === "") !== (asked.signs === "paper")) return judgement("unknown_ticket");
  }
  if (!checkable(asked, ticket)) {
    // A phone that had the ticket before: its signature cannot be checked, so it counts
    // as good where that can only lead to a refusal.
    if (asked.direction === "out") return judgement("not_in_pack");
  } else if (!facts.signature_good) {
    return judgement("bad_signature");
  }
  return facts.same_key && replay(facts.same_key, ticket, facts.event);
}

/** The first answer again: it was given, and nobody saw it. */
function replay({ direction, people, entries, inside }: Passage, { admits, extra }: PackTicket, { reentry }: PackEvent): Decision {
  const remaining = direction === "out" ? inside : Math.max(0, admits + extra - (reentry ? inside : entries));
  return judgement("admitted", { replayed: true, people, remaining });
}

function checkPlace({ now, gate, event, category }: Facts): Decision | undefined {
  if (now < event.doors_open_at) return judgement("wrong_event");
  const own = category.gates.includes(gate);
  if (category.gates.length > 0 && !own) return judgement("wrong_gate");
  // A gate alone may let in only who can come to no other gate.
  return event.offline === "own_gate" && !own ? judgement("not_in_pack") : undefined;
}

function checkFreshness(asked: Presented, facts: Facts): Decision | undefined {
  if (facts.proof_used) return judgement("stale_nonce");
  switch (asked.signs) {
    case "nonce":
      if (facts.nonce_at === undefined) return judgement("unknown_nonce");
      return facts.now - facts.nonce_at > shownFor ? judgement("stale_nonce") : undefined;
    case "paper":
      return facts.category.paper ? undefined : judgement("paper_not_allowed");
    case "time": {
      const skew = (facts.issued_at ?? 0) - facts.now;
      if (skew > timedAhead || skew < -timedBehind) return judgement("clock_skew", { skew });
      const { freshness } = facts.event;
      if (freshness === "live") return judgement("fallback_refused");
      return freshness === "assisted" && !asked.phone_offline ? judgement("needs_assist") : undefined;
    }
  }
}

/** Whatever became of a ticket, whoever is inside may leave. */
function checkTicket(asked: Presented, { ticket }: Facts): Decision | undefined {
  if (asked.direction === "out" || ticket === undefined) return undefined;
  if (asked.generation !== ticket.generation) return judgement("moved");
  if (ticket.status === "r") return judgement("revoked");
  return ticket.status === "h" ? judgement("held") : undefined;
}

function checkTime(asked: Presented, { now, event, category }: Facts): Decision | undefined {
  if (asked.direction === "out") return undefined;
  const { valid_from: from, valid_until } = category;
  const until = Math.min(valid_until ?? event.ends_at, event.ends_at);
  if (from !== null && now < from) return judgement("too_early", { limit: from });
  return now >= until ? judgement("too_late", { limit: until }) : undefined;
}

function checkUse(asked: Presented, facts: Facts): Decision {
  const { ticket, event } = facts;
  if (ticket === undefined) return judgement("not_in_pack");
  const { admits, extra, entries, inside } = ticket;
  const free = asked.direction === "out" ? inside : admits + extra - (event.reentry ? inside : entries);
  const people = asked.people === 0 && admits === 1 ? 1 : asked.people;
  if (asked.direction === "out" && (!event.reentry || free <= 0)) return judgement("not_inside");
  if (free <= 0) return refuseUse(facts, ticket);
  if (people === 0 || people > free) return judgement("choose_people", { remaining: free });
  return judgement("admitted", { people, remaining: free - people });
}

function refuseUse({ event, now, used_at }: Facts, { admits }: PackTicket): Decision {
  if (event.reentry) return judgement("already_inside");
  if (admits > 1) return judgement("entries_exhausted");
  const old = used_at !== undefined && (event.rescan === "strict" || now - used_at > event.rescan_window);
  return judgement("already_used", old ? late : {});
}
