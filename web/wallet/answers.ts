// What the server says to a wallet, and the calls that ask for it. Times are
// RFC 3339 in UTC.

import { call } from "../shared/api.js";

/** One showing at one venue; `time_zone` is the venue's IANA name. */
export interface Event {
  readonly event: string;
  readonly name: string;
  readonly screen: string;
  readonly venue: string;
  readonly venue_name: string;
  readonly time_zone: string;
  readonly doors_open_at: string;
  readonly starts_at: string;
  readonly ends_at: string;
}

/** A ticket of a claim link. */
export interface Offered {
  readonly ticket: string;
  readonly event: string;
  readonly number: number;
  readonly seat: string;
  readonly category: string;
  readonly admits: number;
  readonly status: "active" | "used" | "held" | "revoked";
  readonly claimed: false | { readonly at: string; readonly browser: string };
  /** It was printed: a claim ends the paper. */
  readonly paper: boolean;
  readonly claimable: boolean;
  /** Another phone has it, and digits by mail would move it. */
  readonly movable: boolean;
}

/** What a claim link is for, and the value to sign (base64url of 32 bytes). */
export interface Offer {
  readonly challenge: string;
  readonly server_time: string;
  readonly event: Event;
  readonly claim_from: string;
  readonly claimable: boolean;
  /** The address to which digits would be mailed, masked; "" where none can be. */
  readonly move_to: string;
  readonly tickets: readonly Offered[];
}

/** A ticket that was moved; `stoppable`: "not me" would put it on hold. */
export interface MovedTicket {
  readonly ticket: string;
  readonly number: number;
  readonly seat: string;
  readonly category: string;
  readonly admits: number;
  readonly held: boolean;
  readonly stoppable: boolean;
}

/** A move, as its holder is shown it. */
export interface MovedAway {
  readonly at: string;
  readonly browser: string;
  readonly event: Event;
  readonly tickets: readonly MovedTicket[];
  readonly server_time: string;
}

/** What claimed or moved tickets are answered. */
export interface Taken {
  readonly tickets: readonly Bound[];
  readonly server_time: string;
}

/** A ticket that is on this phone now. */
export interface Bound {
  readonly ticket: string;
  readonly generation: number;
  readonly event: Event;
  readonly number: number;
  readonly seat: string;
  readonly category: string;
  readonly admits: number;
}

export interface Admitted {
  readonly at: string;
  readonly gate: string;
}

export type TicketState = "active" | "used" | "held" | "revoked" | "moved";

/** How a ticket of this wallet stands. */
export interface Standing extends Bound {
  readonly state: TicketState;
  /** People who came in so far. */
  readonly entries: number;
  readonly admitted?: Admitted;
}

export interface Standings {
  readonly tickets: readonly Standing[];
  readonly server_time: string;
}

/** A venue's nonce of now (base64url of 16 bytes); not open: nobody holds a gate there. `accepted_for` is in seconds from `issued_at`. */
export interface VenueNonce {
  readonly venue: string;
  readonly open: boolean;
  readonly nonce?: string;
  readonly issued_at?: string;
  readonly accepted_for?: number;
}

export interface Nonces {
  readonly venues: readonly VenueNonce[];
  readonly server_time: string;
}

/** Six digits that stand for a fresh proof, until they expire. */
export interface ShortCode {
  readonly code: string;
  readonly expires_at: string;
  readonly server_time: string;
}

/** The secret of one claim's one-time codes, in base32 (RFC 4648, section 6). */
export interface OneTime {
  readonly secret: string;
}

/** News of one ticket, from the stream. */
export interface News {
  readonly ticket: string;
  readonly what: "admitted" | "left" | "undone" | "wrong_gate" | "moved" | "held" | "released" | "revoked";
  readonly at?: string;
  readonly gate?: string;
  readonly gates?: readonly string[];
}

export interface ClaimKey {
  readonly ticket: string;
  readonly jwk: JsonWebKey;
  readonly proof: string;
}

export interface SessionProof {
  readonly ticket: string;
  readonly generation: number;
  readonly proof: string;
}

/** The most tickets that one claim or one session takes. */
export const atOnce = 64;

export const api = {
  offer: (code: string) => call<Offer>("POST", "/v1/claims/challenge", { code }),
  claim: (code: string, keys: readonly ClaimKey[]) => call<Taken>("POST", "/v1/claims", { code, keys }),
  move: (code: string) => call<{ readonly to: string; readonly next_at: string; readonly server_time: string }>("POST", "/v1/claims/move", { code }),
  confirmMove: (code: string, otp: string, keys: readonly ClaimKey[]) => call<Taken>("POST", "/v1/claims/move/confirm", { code, otp, keys }),
  moved: (code: string) => call<MovedAway>("POST", "/v1/claims/moved", { code }),
  notMe: (code: string) => call<MovedAway>("POST", "/v1/claims/not-me", { code }),
  challenge: () => call<{ readonly challenge: string; readonly server_time: string }>("POST", "/v1/wallet/challenge", {}),
  session: (tickets: readonly SessionProof[]) => call<Standings>("POST", "/v1/wallet/session", { tickets }),
  standings: () => call<Standings>("GET", "/v1/wallet", undefined, { timeout: 8_000 }),
  short: (proof: string) => call<ShortCode>("POST", "/v1/wallet/short", { proof }, { timeout: 8_000 }),
  oneTime: (proof: SessionProof) => call<OneTime>("POST", "/v1/wallet/totp", proof, { timeout: 8_000 }),
  nonces: () => call<Nonces>("GET", "/v1/wallet/nonce", undefined, { timeout: 5_000 }),
};
