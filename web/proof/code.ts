// The codes that can be a ticket, as values, and how they are printed.

import { b64u, bytesOf, concat, isUint32, uint32, type Bytes } from "./bytes.js";
import * as base45 from "./base45.js";
import { keyIDBytes, nonceInput, timeInput, type KeyID } from "./templates.js";

/** Signed by the phone over a nonce. `audience` is the event that a text form claims; a packed one has none. */
export interface NonceProof extends KeyID {
  readonly kind: "nonce";
  readonly nonce: Bytes;
  readonly signature: Bytes;
  readonly audience?: string;
}

/** Signed by the phone over its clock, in Unix seconds. */
export interface TimeProof extends KeyID {
  readonly kind: "time";
  readonly issued_at: number;
  readonly signature: Bytes;
  readonly audience?: string;
}

/** Signed by the issuer's key with that id (4 bytes), for print. */
export interface PaperCode extends KeyID {
  readonly kind: "paper";
  readonly issuer_key: Bytes;
  readonly signature: Bytes;
}

/** A one-time code (RFC 6238) in its pattern: eight digits for the step of a time in Unix seconds. */
export interface OneTimeCode extends KeyID {
  readonly kind: "totp";
  readonly issued_at: number;
  readonly otp: string;
}

export type PhoneProof = NonceProof | TimeProof;
export type Code = PhoneProof | PaperCode | OneTimeCode;

/** High nibble of the first byte of packed codes. */
export const version = 1;
export const nibbles = { nonce: 1, time: 2, paper: 3, gate: 5 } as const;

const first = (kind: keyof typeof nibbles) => Uint8Array.of((version << 4) | nibbles[kind]);

/** Prints a code in its form; what `parse` reads prints back to the same text. */
export function print(code: Code): string {
  switch (code.kind) {
    case "nonce":
    case "time":
      return code.audience === undefined ? printPacked(code) : printText(code, code.audience);
    case "paper":
      return `PS1:${base45.encode(concat(first("paper"), keyIDBytes(code), code.issuer_key, code.signature))}`;
    case "totp":
      return `PK1:${base32(keyIDBytes(code))}:${code.issued_at}:${code.otp}`;
  }
}

/** The form for the camera: 151 characters over a nonce. */
export function printPacked(proof: PhoneProof): string {
  const fresh = proof.kind === "nonce" ? proof.nonce : uint32(proof.issued_at);
  return `PT1:${base45.encode(concat(first(proof.kind), keyIDBytes(proof), fresh, proof.signature))}`;
}

/** The same proof as a compact JWS for an event. */
export function printText(proof: PhoneProof, event: string): string {
  return `${phoneInput(proof, event)}.${b64u(proof.signature)}`;
}

/** The template that a phone's proof signs, filled for an event. */
export function phoneInput(proof: PhoneProof, event: string): string {
  return proof.kind === "nonce" ? nonceInput(proof, event, proof.nonce) : timeInput(proof, event, proof.issued_at);
}

/** What a gate device shows to a phone: a nonce that only this device accepts, for so many seconds. */
export interface GateCode {
  readonly device: string;
  readonly nonce: Bytes;
  readonly accepted_for: number;
}

/** Prints a gate's code, 58 characters; the last two of its 36 bytes are reserved. */
export function printGateCode(code: GateCode): string {
  if (!isUint32(code.accepted_for) || code.accepted_for > 255) throw new RangeError("accepted_for");
  const bytes = concat(first("gate"), bytesOf(code.device), code.nonce, Uint8Array.of(code.accepted_for, 0, 0));
  return `PG1:${base45.encode(bytes)}`;
}

const alphabet32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Base32 without padding (RFC 4648, section 6). */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet32.charAt((held >> (bits - 5)) & 31);
    held &= (1 << bits) - 1;
  }
  return bits > 0 ? text + alphabet32.charAt((held << (5 - bits)) & 31) : text;
}

/** Reads base32 of so many bytes; stray bits are the caller's to find, by printing again. */
export function fromBase32(text: string, length: number): Bytes | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const char of text) {
    const digit = alphabet32.indexOf(char);
    if (digit < 0) return undefined;
    held = (held << 5) | digit;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
      held &= (1 << bits) - 1;
    }
  }
  return bytes.length === length ? Uint8Array.from(bytes) : undefined;
}
