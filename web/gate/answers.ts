// What the server says to a gate, as its JSON spells it. Nothing here is
// checked at run time: the server is ours and its answers are one build's.

/** A thing with a name and an id, both for show. */
export interface Gate {
  readonly gate: string;
  readonly name: string;
}

export interface Named {
  readonly person: string;
  readonly name: string;
}

/** GET /v1/device: where this device is and who may work on it. */
export interface Device {
  readonly device: string;
  readonly name: string;
  readonly venue: { readonly venue: string; readonly name: string; readonly time_zone: string };
  readonly gates: readonly Gate[];
  readonly person?: Named & { readonly rights: readonly string[] };
  readonly people: readonly Named[];
  /** The server makes packs for gates without network. */
  readonly packs?: boolean;
}

/** POST /v1/pairings/collect: how far the desk is with this browser. */
export type Collected =
  | { readonly state: "opened" | "refused" | "expired" }
  | { readonly state: "confirmed"; readonly device: string; readonly token: string; readonly name: string; readonly venue: string };

/** POST /v1/nonces and its renewal; `code` only for a nonce that is shown. */
export interface Hold {
  readonly lease?: string;
  readonly code?: string;
  readonly accepted_for: number;
  readonly server_time: string;
}

/** Decides colour, shape, sound and vibration of an answer. */
export type Class = "admit" | "ask" | "refuse" | "again";

/** The ticket that an answer is about, as far as a door needs it. */
export interface Ticket {
  readonly ticket: string;
  readonly number: number;
  readonly category: string;
  readonly seat: string;
  readonly holder?: string;
  readonly event_name: string;
  readonly screen: string;
  readonly doors_open_at: string;
  readonly starts_at: string;
  readonly venue_name: string;
  readonly time_zone: string;
}

/** The use that stands against a scan. */
export interface FirstUse {
  readonly at: string;
  readonly seconds_ago: number;
  readonly gate_name: string;
  readonly person: string;
  readonly same_device: boolean;
  readonly same_claim: boolean;
  readonly same_nonce: boolean;
}

/** A ticket that a search found, as far as a door needs it; no name where the event shows none. */
export interface FoundTicket {
  readonly ticket: string;
  readonly number: number;
  readonly category: string;
  readonly seat: string;
  readonly holder?: string;
  readonly status: "active" | "used" | "held" | "revoked";
  readonly claim: "none" | "phone" | "paper";
  readonly admits: number;
  /** People that it may still let in. */
  readonly remaining: number;
  readonly event_name: string;
  readonly screen: string;
  readonly doors_open_at: string;
  readonly starts_at: string;
  readonly time_zone: string;
  readonly last_use?: { readonly at: string; readonly seconds_ago: number; readonly gate_name: string; readonly person: string };
  /** `admit` where this person may let in without a code. */
  readonly actions: readonly string[];
}

/** POST /v1/gates/{gate}/search: 20 tickets at most; `more` says that others were left out. */
export interface Found {
  readonly items: readonly FoundTicket[];
  readonly more: boolean;
  readonly server_time: string;
}

/** POST /v1/scans: a decided scan. */
export interface Answer {
  readonly verdict: "admit" | "refuse" | "retry";
  readonly class: Class;
  readonly reason: string;
  readonly replayed: boolean;
  readonly title: string;
  readonly advice: string;
  readonly actions: readonly string[];
  /** Where the code's freshness comes from: pushed, shown, timed, totp, paper … */
  readonly kind?: string;
  readonly direction?: "in" | "out";
  readonly people?: number;
  readonly remaining?: number;
  readonly at?: string;
  readonly moved_at?: string;
  readonly seconds_skew?: number;
  readonly not_before?: string;
  readonly not_after?: string;
  /** What a code that is no ticket is instead. */
  readonly is?: string;
  readonly gates?: readonly Gate[];
  readonly ticket?: Ticket;
  /** Admitted by judgement against these. */
  readonly overridden?: readonly string[];
  /** The use that stands against it; of an admission, the one that it takes the place of. */
  readonly first_use?: FirstUse;
  readonly server_time: string;
  /** Decided by this device without network, which the server may see otherwise; `no_data`: it has nothing to decide by. */
  readonly alone?: "decided" | "no_data";
}
