// Reads what a camera saw, exactly as it is: nothing is trimmed, folded or
// forgiven, and no signature is looked at.

import * as base45 from "./base45.js";
import { uuidOf, type Bytes } from "./bytes.js";
import { fromBase32, nibbles, print, printGateCode, version, type Code, type GateCode } from "./code.js";
import { foreign } from "./foreign.js";
import { parseText } from "./text.js";

/** What a text that is no ticket is instead. */
export type What = "claim_link" | "pairing_link" | "sign_in_link" | "gate_code" | "link" | "wifi" | "ean" | "other";

/** Why a text is no code for the door; `what` only with not_a_ticket. */
export interface Refusal {
  readonly reason: "malformed" | "unsupported_version" | "not_a_ticket";
  readonly what?: What;
}

export const malformed: Refusal = { reason: "malformed" };
export const unsupported: Refusal = { reason: "unsupported_version" };

export function notATicket(what: What): Refusal {
  return { reason: "not_a_ticket", what };
}

export function refused<T extends object>(result: T | Refusal): result is Refusal {
  return "reason" in result;
}

/** The longest text that is looked at, in characters. */
export const longest = 4096;

/** Reads a scanned code. What is read prints back to the same text. */
export function parse(text: string): Code | Refusal {
  const code = read(text);
  // The promise of one spelling is kept here, whatever a reader forgives.
  return refused(code) || print(code) === text ? code : malformed;
}

function read(text: string): Code | Refusal {
  if (text === "" || text.length > longest) return malformed;
  if (text.startsWith("PT1:")) return readProof(text);
  if (text.startsWith("PS1:")) return readPaper(text);
  if (text.startsWith("PK1:")) return readOneTime(text);
  if (text.startsWith("eyJ")) return parseText(text);
  return foreign(text);
}

function readProof(text: string): Code | Refusal {
  // 98 bytes over a nonce, 86 by time
  if (text.length !== 151 && text.length !== 133) return malformed;
  const bytes = unpack(text);
  if (!(bytes instanceof Uint8Array)) return bytes;
  const id = keyIDOf(bytes.subarray(1, 18));
  const signature = bytes.slice(-64);
  const kind = (bytes[0] ?? 0) & 15;
  if (kind === nibbles.nonce && bytes.length === 98) return { kind: "nonce", ...id, nonce: bytes.slice(18, 34), signature };
  if (kind === nibbles.time && bytes.length === 86) {
    return { kind: "time", ...id, issued_at: new DataView(bytes.buffer).getUint32(18), signature };
  }
  return malformed;
}

function readPaper(text: string): Code | Refusal {
  if (text.length !== 133) return malformed;
  const bytes = unpack(text);
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (((bytes[0] ?? 0) & 15) !== nibbles.paper) return malformed;
  return { kind: "paper", ...keyIDOf(bytes.subarray(1, 18)), issuer_key: bytes.slice(18, 22), signature: bytes.slice(22) };
}

function readOneTime(text: string): Code | Refusal {
  const [, body = "", at = "", otp = ""] = /^PK1:([A-Z2-7]{28}):([1-9]\d{9}):(\d{8})$/.exec(text) ?? [];
  const bytes = fromBase32(body, 17);
  return bytes === undefined ? malformed : { kind: "totp", ...keyIDOf(bytes), issued_at: Number(at), otp };
}

/** Reads a gate's code; a text with another prefix is not_a_ticket. */
export function parseGateCode(text: string): GateCode | Refusal {
  if (!text.startsWith("PG1:")) return notATicket("other");
  if (text.length !== 58) return malformed;
  const bytes = unpack(text);
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (((bytes[0] ?? 0) & 15) !== nibbles.gate) return malformed;
  const code = { device: uuidOf(bytes.subarray(1, 17)), nonce: bytes.slice(17, 33), accepted_for: bytes[33] ?? 0 };
  return printGateCode(code) === text ? code : malformed;
}

/** The bytes behind a prefix, of the version that is known here. */
function unpack(text: string): Bytes | Refusal {
  const bytes = base45.decode(text.slice(4));
  if (bytes === undefined) return malformed;
  return (bytes[0] ?? 0) >> 4 === version ? bytes : unsupported;
}

/** A key id from its 17 bytes. */
export function keyIDOf(bytes: Uint8Array): { ticket: string; generation: number } {
  return { ticket: uuidOf(bytes.subarray(0, 16)), generation: bytes[16] ?? 0 };
}
