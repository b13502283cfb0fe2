// One-time codes: RFC 6238 with SHA-1, eight digits, steps of 15 seconds.

import type { Bytes } from "./bytes.js";

/** Seconds in a step. */
export const period = 15;

/** The step that a time in Unix seconds falls in. */
export function step(unix: number): number {
  return Math.floor(unix / period);
}

/** The one-time code of a step (RFC 4226, section 5.3); throws a RangeError for a short secret or a negative step. */
export async function oneTimeCode(secret: Bytes, at: number): Promise<string> {
  if (secret.length < 16 || !Number.isSafeInteger(at) || at < 0) throw new RangeError("secret or step");
  const counter = new Uint8Array(8);
  new DataView(counter.buffer).setBigUint64(0, BigInt(at));
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-1" }, false, ["sign"]);
  const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
  const value = mac.getUint32(mac.getUint8(19) & 15) & 0x7fff_ffff;
  return String(value % 100_000_000).padStart(8, "0");
}
