// Packs as the server makes them, for tests.

import { b64u, bytesOf, sha256, utf8, type Bytes } from "../proof/bytes.js";
import { publicJWK, thumbprint } from "../proof/keys.js";
import { keyHeader } from "../proof/templates.js";
import type { Head, IssuerKey } from "./pack.js";

export const gate = "11111111-2222-4333-8444-555555555555";
export const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** A ticket's line; for paper, active and for one person unless said otherwise. */
export function row(n: number, { generation = 1, key = "" as string | null, category = 0, status = "a", people = 1, entries = 0, inside = 0, extra = 0 } = {}): string {
  return JSON.stringify([b64u(bytesOf(id(n))), generation, key, 0, category, status, people + extra, entries, inside, n, `F${n}`, ...(extra === 0 ? [] : [extra])]) + "\n";
}

/** An issuer with its secret. */
export interface Signer {
  readonly secret: CryptoKey;
  readonly issuer: IssuerKey;
}

export async function signer(): Promise<Signer> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { x, y } = await publicJWK(publicKey);
  return { secret: privateKey, issuer: { kid: b64u((await thumbprint(publicKey)).subarray(0, 4)), x, y } };
}

export async function sign({ secret }: Pick<Signer, "secret">, input: string): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, secret, utf8(input)));
}

/** What about a part is other than it should be. */
export interface Other {
  readonly head?: Partial<Head>;
  readonly claims?: object;
  readonly typ?: string;
  readonly rows?: number;
  readonly after?: string;
}

export async function part(by: Signer, rows: string, other: Other = {}): Promise<Bytes> {
  const { issuer } = by;
  const head: Head = { pack: 1, gate, venue: id(1), zone: "Europe/Prague", serial: "7", since: "", made_at: "2026-12-07T19:41:00Z", seed: b64u(new Uint8Array(32)), issuer_keys: [issuer], gates: [], events: [], ...other.head };
  const body = JSON.stringify(head) + "\n" + rows;
  const digest = b64u(await sha256(body));
  const claims = { digest, serial: head.serial, gate: head.gate, made_at: head.made_at, ...other.claims };
  const input = `${b64u(utf8(keyHeader(issuer.kid, other.typ ?? "pack+jwt")))}.${b64u(utf8(JSON.stringify(claims)))}`;
  const jws = `${input}.${b64u(await sign(by, input))}`;
  return utf8(body + JSON.stringify({ rows: other.rows ?? rows.split("\n").length - 1, after: other.after ?? "", digest, jws }) + "\n");
}
