// The calls of a gate, one function each. They promise nothing beyond call():
// a Problem is the server's no, Unreachable means that nobody knows.

import { call, download } from "../shared/api.js";
import type { Answer, Collected, Device, Found, Hold } from "./answers.js";
import type { IssuerKey } from "./pack.js";
import type { Receipt } from "./receipts.js";
import type { Batch, BatchScan } from "./uploads.js";

/** A scan as it is sent. */
export interface Scan {
  readonly gate: string;
  readonly code: string;
  /** Entries when not said. */
  readonly direction?: "out";
  readonly people?: number;
  readonly phone_offline?: boolean;
  readonly scanned_at: string;
  /** Let in by judgement, and why. With a ticket, its code was good and is too old by now. */
  readonly override?: { readonly reason: string; readonly ticket?: string };
  /** Let in without a code, which is empty then: the guest was looked up, and why that will do. */
  readonly look_up?: { readonly reason: string; readonly ticket: string };
}

/** Who signs on: by PIN, or by password with an address or a name of the list. */
export type SignOn =
  | { readonly person: string; readonly pin: string }
  | { readonly person: string; readonly password: string }
  | { readonly email: string; readonly password: string };

/** Presents the code of a pairing link; the key lets a lost answer be given again. */
export function openPairing(code: string, name: string, key: string): Promise<{ collect: string; state: string }> {
  return call("POST", "/v1/pairings/open", { code, name }, { key });
}

/** Asks whether the desk has said yes. */
export function collectPairing(collect: string): Promise<Collected> {
  return call("POST", "/v1/pairings/collect", { collect }, { timeout: 5_000 });
}

/** The calls that carry a paired device's credential. */
export class Calls {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  device(): Promise<Device> {
    return call("GET", "/v1/device", undefined, { token: this.#token, timeout: 8_000 });
  }

  signOn(who: SignOn): Promise<Device> {
    return call("POST", "/v1/device/sign-on", who, { token: this.#token });
  }

  signOff(): Promise<void> {
    return call("POST", "/v1/device/sign-off", {}, { token: this.#token });
  }

  /** Holds the gate's lease. */
  hold(gate: string): Promise<Hold> {
    return call("POST", "/v1/nonces", { gate }, { token: this.#token, timeout: 4_000 });
  }

  /** Makes a nonce of this device, to be shown to a phone. */
  show(gate: string): Promise<Hold> {
    return call("POST", "/v1/nonces", { gate, kind: "shown" }, { token: this.#token, timeout: 5_000 });
  }

  renew(lease: string): Promise<Hold> {
    return call("POST", `/v1/nonce-leases/${lease}/renew`, {}, { token: this.#token, timeout: 4_000 });
  }

  close(lease: string): Promise<void> {
    return call("POST", `/v1/nonce-leases/${lease}/close`, {}, { token: this.#token });
  }

  /** Asks for the decision; `key` was made once for this scan. */
  scan(scan: Scan, key: string): Promise<Answer> {
    const { override, look_up, ...plain } = scan;
    if (look_up !== undefined && override === undefined) {
      const { gate, people } = plain;
      const body = { gate, reason: look_up.reason, ...(people !== undefined && { people }) };
      return call("POST", `/v1/tickets/${look_up.ticket}/admit`, body, { token: this.#token, key, timeout: 5_000 });
    }
    if (override === undefined) return call("POST", "/v1/scans", plain, { token: this.#token, key, timeout: 5_000 });
    const { scanned_at: _, code, ...rest } = plain;
    const whom = override.ticket === undefined ? { code } : { ticket: override.ticket };
    return call("POST", "/v1/scans/override", { ...rest, ...whom, reason: override.reason }, { token: this.#token, key, timeout: 5_000 });
  }

  /** Takes an admission back; `callKey` was made once for this act. */
  undo(ticket: string, key: string, reason: string, callKey: string): Promise<unknown> {
    return call("POST", "/v1/scans/undo", { ticket, key, reason }, { token: this.#token, key: callKey, timeout: 8_000 });
  }

  /** Finds tickets by words of a name, the seat or the number. */
  search(gate: string, q: string): Promise<Found> {
    return call("POST", `/v1/gates/${gate}/search`, { q }, { token: this.#token, timeout: 8_000 });
  }

  /** A part of the gate's pack: whole without `since`, else what is new; `after` goes on. */
  pack(gate: string, since: string, after: string): Promise<Uint8Array<ArrayBuffer>> {
    const query = new URLSearchParams({ ...(since !== "" && { since }), ...(after !== "" && { after }) }).toString();
    return download(`/v1/gates/${gate}/pack${query === "" ? "" : `?${query}`}`, "application/x-ndjson", { token: this.#token, timeout: 30_000 });
  }

  /** Tells of scans that were decided without network. */
  batch(scans: readonly BatchScan[]): Promise<Batch> {
    return call("POST", "/v1/scans/batch", { sent_at: new Date().toISOString(), scans }, { token: this.#token, timeout: 30_000 });
  }

  /** Says which answers were on the screen. */
  shown(scans: readonly Receipt[]): Promise<unknown> {
    return call("POST", "/v1/scans/shown", { scans }, { token: this.#token, timeout: 8_000 });
  }
}

/** The issuer's public keys as they are now, by the ids that packs and paper codes name. */
export async function issuerKeys(): Promise<readonly IssuerKey[]> {
  return (await call<{ keys: readonly IssuerKey[] }>("GET", "/.well-known/jwks.json")).keys;
}

/** Gives a lease back while the page is being left: the lease is its own credential, so nothing else is needed. */
export function release(lease: string): void {
  const path = `/v1/nonce-leases/${lease}/release`;
  try {
    fetch(path, { method: "POST", keepalive: true }).catch(() => navigator.sendBeacon(path));
  } catch {
    navigator.sendBeacon(path);
  }
}
