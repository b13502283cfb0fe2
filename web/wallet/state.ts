// Everything the page can be in. One value of State is one picture.

import type { CameraState } from "../shared/camera.js";
import type { MovedAway, Offer, Standing } from "./answers.js";
import type { Fresh, Why } from "./freshness.js";
import type { Symbol } from "./symbol.js";

/** The page as a whole. */
export type State =
  | { readonly kind: "loading" }
  /** No link and no ticket. */
  | { readonly kind: "no_link" }
  | { readonly kind: "link_failed"; readonly why: "unknown" | "ended" | "unreachable" | "refused" }
  /** A claim of an earlier visit is sent again. */
  | { readonly kind: "finishing" }
  /** The browser cannot keep a key. */
  | { readonly kind: "cannot_keep" }
  | OfferState
  | MoveState
  | NotMeState
  | TicketState
  | { readonly kind: "camera"; readonly camera: CameraState; readonly other: boolean };

export interface OfferState {
  readonly kind: "offer";
  readonly offer: Offer;
  /** The app that this browser is part of; see appOf. */
  readonly app: string | undefined;
  readonly copied: boolean;
  /** `waiting`: sent, and not answered yet; `mailing`: digits are asked for. */
  readonly step: "ask" | "claiming" | "waiting" | "mailing";
  /** There are tickets here already. */
  readonly others: boolean;
}

/** Digits of a mail are asked for, which move the link's tickets here. */
export interface MoveState {
  readonly kind: "move";
  readonly offer: Offer;
  /** The address to which they were mailed, masked. */
  readonly to: string;
  /** As they were typed last. */
  readonly digits: string;
  readonly step: "ask" | "checking" | "waiting";
  readonly trouble: MoveTrouble | undefined;
}

/** Why the digits did nothing: not eight of them, others than those of the mail, too old, or no mail for so many minutes. */
export type MoveTrouble = { readonly kind: "eight" | "ended" } | { readonly kind: "wrong"; readonly left: number } | { readonly kind: "many"; readonly minutes: number };

/** The holder is asked whether a move was theirs; `late`: doors are open, `settled`: there is nothing left to stop. */
export interface NotMeState {
  readonly kind: "not_me";
  readonly moved: MovedAway;
  readonly step: "ask" | "sending" | "unreachable" | "late" | "settled";
}

export type { CameraState };

/** A stack of tickets with one on top. */
export interface TicketState {
  readonly kind: "tickets";
  readonly ticket: Standing;
  /** 1 for the first. */
  readonly position: number;
  readonly count: number;
  readonly face: Face;
  readonly notice: Notice | undefined;
  /** The server's time in milliseconds. */
  readonly now: number;
}

/** What the ticket's card shows. */
export type Face =
  | { readonly kind: "code"; readonly source: Fresh["kind"] | undefined; readonly why: Why | undefined; readonly symbol: Symbol | undefined; readonly left: number; readonly short: Short | undefined }
  | { readonly kind: "waiting" }
  | { readonly kind: "welcome"; readonly at: string; readonly gate: string; readonly remaining: number; readonly more: boolean }
  | { readonly kind: "used" | "held" | "revoked" | "moved" | "over" };

/** Digits to be typed at the gate instead: to be had, on their way, not to be had (`refused`: this event takes none by the phone's time), here for so many more seconds, or made by the phone itself, with so many seconds to the next ones. */
export type Short =
  | { readonly kind: "offered" | "asked" | "failed" | "refused" }
  | { readonly kind: "shown"; readonly code: string; readonly left: number }
  | { readonly kind: "own"; readonly number: number; readonly code: string; readonly left: number };

/** Something that happened to the ticket and matters a while. */
export type Notice = { readonly kind: "wrong_gate"; readonly gates: readonly string[] } | { readonly kind: "undone" | "left" };

/** What a guest may do. */
export interface Acts {
  claim(): void;
  retry(): void;
  copyLink(): void;
  calendar(): void;
  move(): void;
  moveGo(digits: string): void;
  moveAgain(): void;
  notMe(): void;
  toTickets(): void;
  turn(by: 1 | -1): void;
  showEarly(): void;
  shortCode(): void;
  scanGate(): void;
  stopScan(): void;
  wakeCamera(): void;
}
