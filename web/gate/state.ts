// Everything that the page can show, as one type. A state holds plain data
// only, so that two of them can be compared and each can be made up by a test.

import type { CameraState, Optics } from "../shared/camera.js";
import type { Device, Named } from "./answers.js";
import type { LeaseState } from "./lease.js";
import type { AloneView } from "./offline.js";
import type { Recent } from "./recent.js";
import type { Screen, Shown } from "./screen.js";
import type { Search } from "./search.js";
import type { Modules } from "./shown.js";
import type { Burst } from "./wedge.js";

/** What went wrong, by a code of the catalogue; `detail` is said where it has no sentence. */
export interface Trouble {
  readonly code: string;
  readonly detail?: string;
  readonly tries_left?: number;
}

/** The steps of signing on. */
export type SignOnStep =
  | { readonly kind: "names" }
  | { readonly kind: "pin"; readonly person: Named; readonly digits: number }
  | { readonly kind: "password"; readonly person?: Named };

/** A scan that was set aside; `shown` when it was answered meanwhile. `at` is when it was scanned (RFC 3339). */
export interface Aside {
  readonly key: string;
  readonly at: string;
  readonly shown?: Shown;
}

/** What is open below the picture. */
export type Panel =
  | { readonly kind: "none" }
  | { readonly kind: "typing" }
  | ({ readonly kind: "search" } & Search)
  /** The last scans; `undoing` is the one whose reason is asked for. */
  | { readonly kind: "recent"; readonly undoing?: string; readonly busy: boolean; readonly trouble?: Trouble }
  /** Over the answer: why the guest is let in all the same. */
  | { readonly kind: "override" }
  | { readonly kind: "gate_code"; readonly code?: Modules; readonly failed: boolean }
  | { readonly kind: "more"; readonly closing: boolean; readonly busy: boolean; readonly trouble?: Trouble };

/** A gate at work. */
export interface Work {
  readonly kind: "working";
  readonly gate: string;
  readonly person: string;
  readonly time_zone: string;
  readonly online: boolean;
  readonly lease: LeaseState;
  readonly camera: CameraState;
  readonly optics: Optics;
  readonly screen: Screen;
  readonly aside: readonly Aside[];
  readonly unsent: number;
  /** Why the server does not let this person hold the gate. */
  readonly trouble?: Trouble;
  readonly panel: Panel;
  /** How many this person let in by judgement in this shift. */
  readonly overrides: number;
  /** Which way is counted. */
  readonly direction: "in" | "out";
  /** So many guests in a row were inside already that this may be an exit. */
  readonly perhapsExits: boolean;
  /** The last scans, the newest first. */
  readonly recent: readonly Recent[];
  /** Working without network. */
  readonly alone: AloneView;
}

/** How a page that cannot reach the server can go on: who worked where, and on what data. */
export interface Onward {
  readonly gate: string;
  readonly person: string;
  readonly time_zone: string;
  readonly made_at: string;
}

export type State =
  | { readonly kind: "loading" }
  /** `unsent` are scans of the device that this browser was. */
  | { readonly kind: "unpaired"; readonly trouble?: Trouble; readonly unsent: number }
  | { readonly kind: "pairing"; readonly name: string; readonly busy: boolean; readonly paired?: string; readonly trouble?: Trouble }
  | { readonly kind: "confirming"; readonly name: string; readonly online: boolean }
  | { readonly kind: "unreachable"; readonly onward?: Onward }
  | { readonly kind: "sign_on"; readonly device: Device; readonly step: SignOnStep; readonly busy: boolean; readonly trouble?: Trouble }
  | { readonly kind: "choose_gate"; readonly device: Device; readonly trouble?: Trouble }
  | { readonly kind: "ready"; readonly device: Device; readonly gate: string; readonly unsent: number; readonly alone: boolean }
  | Work;

/** The page: its state, and whether a newer build waits to be taken. */
export interface Page {
  readonly state: State;
  readonly update: boolean;
}

/** What a person can do; each button calls one of these. */
export interface Acts {
  pair(name: string): void;
  keepPairing(): void;
  retry(): void;
  choosePerson(person: Named): void;
  digit(digit: string): void;
  erase(): void;
  backToNames(): void;
  usePassword(): void;
  password(email: string, password: string): void;
  chooseGate(gate: string): void;
  otherGate(): void;
  start(): void;
  signOff(): void;
  update(): void;
  tap(): void;
  setAside(): void;
  people(people: number): void;
  phoneOffline(): void;
  /** Asks why, and `override` lets in. */
  askOverride(): void;
  override(reason: string): void;
  /** Counts entries or exits from now on. */
  turn(direction: "in" | "out"): void;
  /** Asks why a scan is taken back; without a key nothing is asked any more. */
  askUndo(key?: string): void;
  undo(key: string, reason: string): void;
  judgeAgain(): void;
  openAside(key: string): void;
  open(panel: "none" | "typing" | "search" | "gate_code" | "recent" | "more"): void;
  typed(text: string): void;
  search(q: string): void;
  /** Opens a found ticket's card; without one, the list again. */
  choose(ticket?: string): void;
  /** Asks why a guest is let in without a code, and `lookUp` lets in. */
  askLookUp(asking: boolean): void;
  lookUp(reason: string): void;
  /** A hand scanner typed something. */
  scanned(burst: Burst): void;
  closeGate(): void;
  openGate(): void;
  /** Goes on without network, or back to the server. */
  goAlone(on: boolean): void;
  /** Sends what a former device of this browser has left. */
  handIn(): void;
  wake(): void;
  anotherCamera(): void;
  light(on: boolean): void;
}
