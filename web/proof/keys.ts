// Keys and signatures: ES256 as WebCrypto does it, which is what JOSE wants
// (ECDSA on P-256 with SHA-256, r‖s in 64 bytes; RFC 7518, section 3.4).

import { b64u, concat, sha256, utf8, type Bytes } from "./bytes.js";
import { phoneInput, type NonceProof, type PaperCode, type PhoneProof, type TimeProof } from "./code.js";
import { claimInput, nonceInput, paperInput, sessionInput, timeInput, transferInput, type KeyID } from "./templates.js";

const curve = { name: "ECDSA", namedCurve: "P-256" } as const;
const es256 = { name: "ECDSA", hash: "SHA-256" } as const;

/** A new key pair whose private part never leaves this browser. */
export function newKeyPair(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(curve, false, ["sign", "verify"]);
}

/** A public key from x‖y, 64 bytes; rejects a point that is not on the curve. */
export function importPublicKey(raw: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", concat(Uint8Array.of(4), raw), curve, true, ["verify"]);
}

/** The public key as the server takes it when a ticket is claimed. */
export async function publicJWK(key: CryptoKey): Promise<{ kty: "EC"; crv: "P-256"; x: string; y: string }> {
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", key));
  return { kty: "EC", crv: "P-256", x: b64u(point.subarray(1, 33)), y: b64u(point.subarray(33)) };
}

/** The SHA-256 JWK thumbprint (RFC 7638, section 3); its first four bytes are an issuer key's id. */
export async function thumbprint(key: CryptoKey): Promise<Bytes> {
  const { x, y } = await publicJWK(key);
  return sha256(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`);
}

async function sign(key: CryptoKey, input: string): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign(es256, key, utf8(input)));
}

function verify(key: CryptoKey, input: string, signature: Bytes): Promise<boolean> {
  return crypto.subtle.verify(es256, key, signature, utf8(input));
}

/** Signs a nonce of the server or of a gate, 16 bytes. */
export async function signNonce(key: CryptoKey, { ticket, generation }: KeyID, event: string, nonce: Bytes): Promise<NonceProof> {
  const signature = await sign(key, nonceInput({ ticket, generation }, event, nonce));
  return { kind: "nonce", ticket, generation, nonce, signature };
}

/** Signs a time in Unix seconds. */
export async function signTime(key: CryptoKey, { ticket, generation }: KeyID, event: string, issuedAt: number): Promise<TimeProof> {
  const signature = await sign(key, timeInput({ ticket, generation }, event, issuedAt));
  return { kind: "time", ticket, generation, issued_at: issuedAt, signature };
}

/** Whether a phone's proof is the key's for that event; a text form has to claim that event. */
export async function verifyPhone(proof: PhoneProof, key: CryptoKey, event: string): Promise<boolean> {
  if (proof.audience !== undefined && proof.audience !== event) return false;
  return verify(key, phoneInput(proof, event), proof.signature);
}

/** Whether a paper code is the issuer's for that event. */
export function verifyPaper(code: PaperCode, key: CryptoKey, event: string): Promise<boolean> {
  return verify(key, paperInput(code, event, code.issuer_key), code.signature);
}

async function signText(key: CryptoKey, input: string): Promise<string> {
  return `${input}.${b64u(await sign(key, input))}`;
}

/** Signs the server's challenge (32 bytes) to claim a ticket of an event with a claim code. */
export async function signClaim(key: CryptoKey, challenge: Uint8Array, event: string, claimCode: string): Promise<string> {
  return signText(key, claimInput(challenge, event, await sha256(claimCode)));
}

/** Signs the server's challenge to open a wallet session. */
export function signSession(key: CryptoKey, challenge: Uint8Array, ticket: string): Promise<string> {
  return signText(key, sessionInput(challenge, ticket));
}

/** Signs a ticket away to an address, which is neither trimmed nor folded. */
export async function signTransfer(key: CryptoKey, challenge: Uint8Array, ticket: string, address: string): Promise<string> {
  return signText(key, transferInput(challenge, ticket, await sha256(address)));
}
