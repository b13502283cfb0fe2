// What the server answers, as far as the desk reads it; the words are the API's.

export interface List<T> {
  readonly items: readonly T[];
  /** The cursor of the following page, empty on the last. */
  readonly next: string;
}

export interface Grant {
  /** Absent: at every venue. */
  readonly venue?: string;
  readonly role: "controller" | "supervisor" | "admin";
  readonly can_override?: boolean;
}

export interface Me {
  readonly person?: string;
  readonly name: string;
  readonly email?: string;
  readonly has_password: boolean;
  readonly has_pin: boolean;
  readonly has_second_factor: boolean;
  readonly grants: readonly Grant[];
}

/** Somebody of the staff. */
export interface Person {
  readonly person: string;
  readonly name: string;
  readonly email: string;
  readonly grants: readonly Grant[];
  readonly disabled: boolean;
  readonly has_password: boolean;
  readonly has_pin: boolean;
  readonly has_second_factor: boolean;
  readonly created_at: string;
  /** In the answer that adds the person only. */
  readonly sign_in_link?: string;
}

export type Scope = "read" | "issue" | "scan" | "admin";

/** A credential for programs. */
export interface Token {
  readonly token_id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Absent: every venue. */
  readonly venue?: string;
  readonly person_name: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** In the answer that makes the token only. */
  readonly token?: string;
}

export interface Venue {
  readonly venue: string;
  readonly name: string;
  readonly time_zone: string;
}

export interface Gate {
  readonly gate: string;
  readonly name: string;
}

export interface Device {
  readonly device: string;
  readonly name: string;
  readonly browser: string;
  readonly paired_at: string;
  readonly person: { readonly name: string } | null;
  readonly signed_on_at: string | null;
  readonly revoked_at: string | null;
}

export type PairingState = "waiting" | "opened" | "confirmed" | "collected" | "refused" | "expired";

export interface Pairing {
  readonly pairing: string;
  readonly state: PairingState;
  readonly device_name?: string;
  readonly browser?: string;
  readonly expires_at: string;
  /** In the answer that makes the pairing only. */
  readonly pairing_link?: string;
}

export type Freshness = "live" | "assisted" | "open";
export type Rescan = "strict" | "show_time" | "recover";

export interface Policy {
  readonly freshness: Freshness;
  readonly rescan: Rescan;
  readonly rescan_window_s: number;
  readonly reentry: boolean;
  readonly show_names: boolean;
}

export interface Event {
  readonly event: string;
  readonly venue: string;
  readonly venue_name: string;
  readonly time_zone: string;
  readonly name: string;
  readonly screen: string;
  readonly doors_open_at: string;
  readonly starts_at: string;
  readonly ends_at: string;
  readonly claim_from: string;
  readonly policy: Policy;
}

export interface Category {
  readonly category: string;
  readonly name: string;
  readonly admits: number;
  readonly paper: boolean;
  readonly gates: readonly string[];
}

export type Status = "active" | "used" | "held" | "revoked";

/** A ticket as lists show it. */
export interface Listed {
  readonly ticket: string;
  readonly number: number;
  readonly category: string;
  readonly category_name: string;
  readonly seat: string;
  readonly holder: { readonly name: string; readonly email: string };
  readonly external_id: string;
  readonly status: Status;
  readonly claim: "none" | "phone" | "paper";
  readonly generation: number;
  readonly entries: number;
  readonly inside: number;
  readonly admits: number;
  readonly extra: number;
  readonly used_at?: string;
}

/** One act on a ticket. */
export interface Act {
  readonly at: string;
  readonly act: string;
  readonly actor: string;
  readonly person_name?: string;
  readonly device_name?: string;
  readonly reason?: string;
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** One passage through a gate. */
export interface Admission {
  readonly at: string;
  readonly gate_name: string;
  readonly person_name: string;
  readonly device_name?: string;
  readonly people: number;
  readonly direction: "in" | "out";
  readonly kind: string;
  readonly path: string;
  readonly reason?: string;
  /** When its answer was on the scanner's screen. */
  readonly shown_at?: string;
  /** superseded_by: another took its place, because its answer was lost. */
  readonly undone?: { readonly at: string; readonly person_name?: string; readonly reason: string; readonly superseded_by?: string };
}

export interface Ticket extends Listed {
  readonly event: string;
  readonly event_name: string;
  readonly created_at: string;
  readonly history: readonly Act[];
  readonly admissions: readonly Admission[];
}

export interface Issued {
  readonly order: string;
  readonly tickets: readonly { readonly ticket: string; readonly number: number; readonly seat: string }[];
  readonly claim_url: string;
}

export interface Printed {
  readonly code: string;
  readonly qr_svg: string;
}

export type MailState = "waiting" | "sending" | "sent" | "failed";

/** One mail, with each step of each attempt to send it. The address is masked. */
export interface Mail {
  readonly mail: string;
  readonly kind: string;
  readonly at: string;
  readonly to: string;
  readonly ticket?: string;
  readonly number: number | null;
  readonly state: MailState;
  readonly attempts: number;
  readonly ended_at: string | null;
  readonly steps: readonly MailStep[];
}

export interface MailStep {
  readonly attempt: number;
  readonly step: string;
  readonly at: string;
  readonly took_ms: number;
  readonly outcome: "ok" | "failed";
  readonly detail: string;
}

/** How often something was answered, and when: one count a bucket. */
export interface ReasonCount {
  readonly reason: string;
  readonly class: "admit" | "ask" | "refuse" | "again";
  readonly attempts: number;
  readonly over_time: readonly number[];
}

/** How an event stands: tickets and people of the moment `at`, all else of the time from `from` to `to` in buckets of `step_s` seconds. */
export interface Report {
  readonly at: string;
  readonly from: string;
  readonly to: string;
  readonly step_s: number;
  readonly tickets: { readonly issued: number; readonly active: number; readonly used: number; readonly held: number; readonly revoked: number; readonly phone: number; readonly paper: number };
  /** People let in, less those taken back. */
  readonly entries: number;
  readonly inside: number;
  readonly attempts: { readonly answered: number; readonly admitted: number; readonly refused: number };
  readonly reasons: readonly ReasonCount[];
  /** Of codes that named no ticket. */
  readonly unattributed: readonly ReasonCount[];
  readonly gates: readonly { readonly gate: string; readonly gate_name: string; readonly admitted: number; readonly refused: number; readonly people_in: number; readonly people_out: number }[];
  readonly people: readonly { readonly person: string; readonly person_name: string; readonly admitted: number; readonly refused: number; readonly overrides: number; readonly look_ups: number; readonly undos: number }[];
}
