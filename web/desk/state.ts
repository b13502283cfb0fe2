// Everything that the desk can show, as data. A drawing takes nothing else, so
// that each state can be looked at without a server.

import type { Category, Device, Event, Gate, Issued, Listed, Mail, Me, Pairing, Person, Report, Ticket, Token, Venue } from "./answers.js";
import type { Kept } from "./numbering.js";

/** A refusal or a silence of the server. */
export interface Trouble {
  readonly code: string;
  readonly detail: string;
  readonly status: number;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly fields: readonly { readonly name: string; readonly code: string }[];
  /** Seconds; 0 when the server did not say. */
  readonly retryAfter: number;
}

/** A form as far as it has been filled in. */
export interface Form {
  /** The call's Idempotency-Key: made with the form, renewed once it was carried out. */
  readonly key: string;
  /** What stands in the fields. The one thing that changes without a drawing: it is typed. */
  readonly values: Record<string, string>;
  readonly busy: boolean;
  readonly trouble?: Trouble;
}

export type Forms = Readonly<Record<string, Form>>;

/** Who is at the desk, and of which house. */
export interface House {
  readonly me: Me;
  readonly venues: readonly Venue[];
  readonly venue?: Venue;
}

/** A house with a venue chosen. */
export interface Open extends House {
  readonly venue: Venue;
}

/** A link or a code to hand over. The picture comes a moment later. */
export interface Handed {
  readonly text: string;
  readonly picture?: string;
}

export interface Listing {
  readonly items: readonly Listed[];
  readonly next: string;
  readonly q: string;
  readonly status: string;
  readonly busy: boolean;
  readonly trouble?: Trouble;
}

/** What can be done to a ticket. */
export type Deed = "revoke" | "reinstate" | "hold" | "release" | "reissue" | "link" | "resend" | "print";

interface Bare {
  readonly forms: Forms;
}

export type State =
  | (Bare & { readonly kind: "loading" })
  | (Bare & { readonly kind: "link"; readonly me?: Me })
  | (Bare & { readonly kind: "sign_in"; readonly why?: "ended" | "signed_out" })
  | (Bare & { readonly kind: "password"; readonly me: Me })
  | (Bare & { readonly kind: "no_rights"; readonly me: Me })
  | (Bare & { readonly kind: "failed"; readonly house?: House; readonly trouble: Trouble })
  | (Bare & { readonly kind: "venues"; readonly house: House })
  | (Bare & { readonly kind: "gates"; readonly house: Open; readonly gates: readonly Gate[] })
  | DevicesState
  | PeopleState
  | PersonState
  | TokensState
  | AccountState
  | (Bare & { readonly kind: "events"; readonly house: Open; readonly events: readonly Event[]; readonly next: string; readonly past: boolean; readonly now: Date })
  | (Bare & { readonly kind: "new_event"; readonly house: Open })
  | EventState
  | ReportState
  | MailsState
  | IssueState
  | TicketState;

export interface AccountState extends Bare {
  readonly kind: "account";
  readonly house: House;
  /** The second factor on its way: its secret for the app, then the codes for the day on which the phone is lost. Each is shown once. */
  readonly factor?: { readonly kind: "begun"; readonly secret: string; readonly handed: Handed } | { readonly kind: "codes"; readonly codes: readonly string[] };
}

export interface IssueState extends Bare {
  readonly kind: "issue";
  readonly house: Open;
  readonly event: Event;
  readonly categories: readonly Category[];
  /** The number that is kept for the form, and the one that it showed before, if it lost that. */
  readonly kept?: Kept & { readonly was?: number };
  readonly issued?: Issued & { readonly handed: Handed };
}

export interface DevicesState extends Bare {
  readonly kind: "devices";
  readonly house: Open;
  readonly devices: readonly Device[];
  readonly pairing?: { readonly pairing: Pairing; readonly handed: Handed };
  /** The device whose end was pressed once. */
  readonly ending?: string;
}

export interface PeopleState extends Bare {
  readonly kind: "people";
  readonly house: Open;
  readonly people: readonly Person[];
  /** Who was just added, and the way in for them. */
  readonly added?: { readonly name: string; readonly handed: Handed };
}

export interface PersonState extends Bare {
  readonly kind: "person";
  readonly house: Open;
  readonly person: Person;
  /** What was pressed once. */
  readonly asking?: "disable" | "reset_factor";
  readonly handed?: Handed;
}

export interface TokensState extends Bare {
  readonly kind: "tokens";
  readonly house: Open;
  readonly tokens: readonly Token[];
  readonly made?: Token;
  /** The token whose end was pressed once. */
  readonly ending?: string;
}

export interface EventState extends Bare {
  readonly kind: "event";
  readonly house: Open;
  readonly event: Event;
  readonly gates: readonly Gate[];
  readonly categories: readonly Category[];
  readonly listing: Listing;
  readonly report: Report;
}

export interface ReportState extends Bare {
  readonly kind: "report";
  readonly house: Open;
  readonly event: Event;
  readonly report: Report;
  /** Why the report is not of this moment. */
  readonly trouble?: Trouble;
}

export interface MailsState extends Bare {
  readonly kind: "mails";
  readonly house: Open;
  readonly event: Event;
  readonly log: MailLog;
}

/** An event's mails as far as they are shown: those in `state`, or all. */
export interface MailLog {
  readonly items: readonly Mail[];
  readonly next: string;
  readonly state: string;
  readonly busy: boolean;
  readonly trouble?: Trouble;
}

export interface TicketState extends Bare {
  readonly kind: "ticket";
  readonly house: Open;
  readonly ticket: Ticket;
  readonly event: Event;
  readonly category?: Category;
  /** The deed that was pressed once; its form is `deed`. */
  readonly deed?: Deed;
  readonly handed?: Handed & { readonly what: "link" | "paper" };
}

/** What the pages' elements ask for. They name it in attributes and hold no functions, so that an element may outlive the state it was drawn from. */
export interface Acts {
  /** A button: `data-act`, and on what: `data-on`. */
  press(act: string, on: string): void;
  type(form: string, name: string, value: string): void;
  submit(form: string): void;
}

/** A form as it opens. */
export function form(values: Readonly<Record<string, string>> = {}): Form {
  return { key: newKey(), values: { ...values }, busy: false };
}

/** A random UUID (RFC 9562, 5.4). Not `randomUUID`, which plain HTTP in a local network does not have. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** The state with one of its forms changed; a form that is not there any more stays away. */
export function withForm(state: State, id: string, change: Partial<Form>): State {
  const old = state.forms[id];
  return old === undefined ? state : { ...state, forms: { ...state.forms, [id]: { ...old, ...change } } };
}

/** The state with a form opened, or opened anew. */
export function opened<S extends State>(state: S, id: string, values: Readonly<Record<string, string>> = {}): S {
  return { ...state, forms: { ...state.forms, [id]: form(values) } };
}

/** The state without a form. */
export function closed<S extends State>(state: S, id: string): S {
  const { [id]: _, ...forms } = state.forms;
  return { ...state, forms };
}

/** Whether an admin of everywhere is asking, who may add venues. */
export function everywhere(me: Me): boolean {
  return me.grants.some(({ role, venue }) => role === "admin" && venue === undefined);
}

/** Whether somebody is an admin anywhere: nobody else has work at the desk. */
export function mayWork(me: Me): boolean {
  return me.grants.some(({ role }) => role === "admin");
}
