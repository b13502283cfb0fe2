// One-time codes: RFC 6238 with SHA-1, eight digits, steps of 15 seconds.

import type { Bytes } from "./bytes.js";

/** Seconds in a step. */
export const period = 15;

/** The step that a time in Unix seconds falls in. */
export function step(unix: number): number {
  return Math.floor(unix / period);
}

/** A secret as a key that nobody can export; throws a RangeError for one of fewer than 16 bytes. */
export async function oneTimeKey(secret: Bytes): Promise<CryptoKey> {
  if (secret.length < 16) throw new RangeError("secret");
  return crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
}

/** The one-time code of a step (RFC 4226, section 5.3); throws a RangeError for a negative step. */
export async function oneTimeCode(key: CryptoKey, at: number): Promise<string> {
  if (!Number.isSafeInteger(at) || at < 0) throw new RangeError("step");
  const counter = new Uint8Array(8);
  new DataView(counter.buffer).setBigUint64(0, BigInt(at));
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
  const value = mac.getUint32(mac.getUint8(19) & 15) & 0x7fff_ffff;
  return String(value % 100_000_000).padStart(8, "0");
}
