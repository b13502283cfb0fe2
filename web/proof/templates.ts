// The texts that are signed. A proof in packed form and as a JWS carries the
// same signature over the same JWS signing input, so what is here is all that a
// signature ever covers: one template for each purpose, filled with fields,
// never taken from a message.

import { b64u, bytesOf, concat, isUint32, utf8, type Bytes } from "./bytes.js";

/** What a code is signed for: a ticket (UUID) and the claim that counts (0 to 255). */
export interface KeyID {
  readonly ticket: string;
  readonly generation: number;
}

/** The 17 bytes of a key id. */
export function keyIDBytes(id: KeyID): Bytes {
  if (!Number.isInteger(id.generation) || id.generation < 0 || id.generation > 255) throw new RangeError("generation");
  return concat(bytesOf(id.ticket), Uint8Array.of(id.generation));
}

/** The JWS signing input (RFC 7515, section 5.1) of a header and claims that are already spelt. */
function input(header: string, claims: string): string {
  return `${b64u(utf8(header))}.${b64u(utf8(claims))}`;
}

export function keyHeader(kid: string, typ: string): string {
  return `{"alg":"ES256","kid":"${kid}","typ":"${typ}"}`;
}

export function plainHeader(typ: string): string {
  return `{"alg":"ES256","typ":"${typ}"}`;
}

const event64 = (event: string) => b64u(bytesOf(event));

/** A phone's proof over a nonce of the server or of a gate (16 bytes). */
export function nonceInput(id: KeyID, event: string, nonce: Uint8Array): string {
  return input(keyHeader(b64u(keyIDBytes(id)), "pt+jwt"), `{"aud":"${event64(event)}","nonce":"${b64u(nonce)}"}`);
}

/** A phone's proof by its clock, in Unix seconds; throws a RangeError beyond 32 bits. */
export function timeInput(id: KeyID, event: string, issuedAt: number): string {
  if (!isUint32(issuedAt)) throw new RangeError("issued_at");
  return input(keyHeader(b64u(keyIDBytes(id)), "ptt+jwt"), `{"aud":"${event64(event)}","iat":${issuedAt}}`);
}

/** The issuer's signature on a paper code; the issuer key's id has 4 bytes. */
export function paperInput(id: KeyID, event: string, issuerKey: Uint8Array): string {
  return input(keyHeader(b64u(issuerKey), "ps+jwt"), `{"aud":"${event64(event)}","sub":"${b64u(keyIDBytes(id))}"}`);
}

/** A claim: the server's challenge (32 bytes), the event, and SHA-256 of the claim code. */
export function claimInput(challenge: Uint8Array, event: string, claim: Uint8Array): string {
  return input(plainHeader("pe+jwt"), `{"aud":"${event64(event)}","claim":"${b64u(claim)}","nonce":"${b64u(challenge)}"}`);
}

/** The opening of a wallet session for a ticket. */
export function sessionInput(challenge: Uint8Array, ticket: string): string {
  return input(plainHeader("pw+jwt"), `{"nonce":"${b64u(challenge)}","sub":"${b64u(bytesOf(ticket))}"}`);
}

/** A transfer of a ticket to the address with that SHA-256 of its UTF-8, exactly as it is sent beside. */
export function transferInput(challenge: Uint8Array, ticket: string, address: Uint8Array): string {
  return input(plainHeader("px+jwt"), `{"nonce":"${b64u(challenge)}","sub":"${b64u(bytesOf(ticket))}","to":"${b64u(address)}"}`);
}
