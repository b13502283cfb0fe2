import { test } from "node:test";
import assert from "node:assert/strict";
import { b64u, bytesOf, sha256, utf8, type Bytes } from "../proof/bytes.js";
import { publicJWK, thumbprint } from "../proof/keys.js";
import { keyHeader } from "../proof/templates.js";
import { BadPack, readPart, Tickets, type Head, type IssuerKey } from "./pack.js";

const gate = "11111111-2222-4333-8444-555555555555";
const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const row = (n: number, status = "a", extra?: number) => JSON.stringify([b64u(bytesOf(id(n))), 1, "", 0, 0, status, 1 + (extra ?? 0), 0, 0, n, `F${n}`, ...(extra === undefined ? [] : [extra])]) + "\n";

interface Signer {
  readonly secret: CryptoKey;
  readonly issuer: IssuerKey;
}

async function signer(): Promise<Signer> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const { x, y } = await publicJWK(publicKey);
  return { secret: privateKey, issuer: { kid: b64u((await thumbprint(publicKey)).subarray(0, 4)), x, y } };
}

/** A part as the server makes it. `spoil` changes what is signed, or how. */
async function part({ secret, issuer }: Signer, rows: string, spoil: { head?: Partial<Head>; claims?: object; typ?: string; rows?: number } = {}): Promise<Bytes> {
  const head: Head = { pack: 1, gate, venue: id(1), zone: "Europe/Prague", serial: "7", since: "", made_at: "2026-12-07T19:41:00Z", seed: "", issuer_keys: [issuer], gates: [], events: [], ...spoil.head };
  const body = JSON.stringify(head) + "\n" + rows;
  const digest = b64u(await sha256(body));
  const claims = { digest, serial: head.serial, gate: head.gate, made_at: head.made_at, ...spoil.claims };
  const input = `${b64u(utf8(keyHeader(issuer.kid, spoil.typ ?? "pack+jwt")))}.${b64u(utf8(JSON.stringify(claims)))}`;
  const signature = new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, secret, utf8(input)));
  return utf8(body + JSON.stringify({ rows: spoil.rows ?? rows.split("\n").length - 1, after: "x", digest, jws: `${input}.${b64u(signature)}` }) + "\n");
}

const from = (...keys: IssuerKey[]) => async (kid: string) => keys.find((key) => key.kid === kid);

test("a part that the issuer signed is read, each ticket by its id", async () => {
  const us = await signer();
  const read = await readPart(await part(us, row(1) + row(2, "h", 1)), gate, from(us.issuer));
  assert.equal(read.head.serial, "7");
  assert.equal(read.after, "x");
  const tickets = new Tickets();
  tickets.add(read.rows);
  assert.equal(tickets.size, 2);
  assert.deepEqual(tickets.find(id(2)), { generation: 1, key: "", event: 0, category: 0, status: "h", admits: 1, extra: 1, entries: 0, inside: 0, number: 2, seat: "F2" });
  assert.equal(tickets.find(id(3)), undefined);
});

test("a part without tickets is a part", async () => {
  const us = await signer();
  assert.equal((await readPart(await part(us, ""), gate, from(us.issuer))).rows, "");
});

test("a byte that changed anywhere, or a signature for something else, is refused", async () => {
  const us = await signer();
  const good = await part(us, row(1) + row(2));
  const spoilt: [string, Bytes][] = [
    ["another signer", await part({ ...us, secret: (await signer()).secret }, row(1))],
    ["unknown signer", await part(await signer(), row(1))],
    ["another gate", await part(us, row(1), { head: { gate: id(9) } })],
    ["signed for another gate", await part(us, row(1), { claims: { gate: id(9) } })],
    ["signed for another serial", await part(us, row(1), { claims: { serial: "8" } })],
    ["signed for another time", await part(us, row(1), { claims: { made_at: "2026-12-08T19:41:00Z" } })],
    ["signed for another purpose", await part(us, row(1), { typ: "ps+jwt" })],
    ["a row less", await part(us, row(1), { rows: 2 })],
    ["another form", await part(us, row(1), { head: { pack: 2 as 1 } })],
    ["cut", good.slice(0, 300)],
    ["empty", new Uint8Array()],
    ["a page", utf8("<!doctype html>\n<title>Sign in</title>\n")],
  ];
  for (let at = 5; at < good.length - 20; at += 41) {
    const changed = good.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    spoilt.push([`byte ${at}`, changed]);
  }
  for (const [why, bytes] of spoilt) {
    await assert.rejects(readPart(bytes, gate, from(us.issuer)), BadPack, why);
  }
});

test("a delta replaces the lines of its tickets, and many deltas become one", () => {
  const tickets = new Tickets();
  tickets.add(row(1) + row(2) + row(3));
  tickets.add(row(2, "r"));
  tickets.add(row(4) + row(2, "h"));
  assert.equal(tickets.size, 4);
  assert.equal(tickets.find(id(1))?.status, "a");
  assert.equal(tickets.find(id(2))?.status, "h");
  assert.deepEqual(tickets.latest(1).trimEnd().split("\n").sort(), [row(2, "h").trimEnd(), row(4).trimEnd()].sort());
});
