// The vectors that the server's own implementation writes and reads.

import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as base45 from "./base45.js";
import { b64u, bytesOf, fromB64u, sha256, type Bytes } from "./bytes.js";
import { phoneInput, print, printGateCode, printPacked, printText, type Code } from "./code.js";
import { importPublicKey, publicJWK, signClaim, signNonce, signSession, signTime, signTransfer, thumbprint, verifyPaper, verifyPhone } from "./keys.js";
import { parse, parseGateCode, refused } from "./parse.js";
import { claimInput, paperInput, sessionInput, transferInput } from "./templates.js";
import { oneTimeCode, oneTimeKey, step } from "./totp.js";

interface Signed { name: string; key: string; event: string; ticket: string; generation: number; signing_input: string; signature: string }

interface Vectors {
  keys: Record<string, { private_key: string; public_key: string; thumbprint: string; issuer_key: string; jwk: JsonWebKey }>;
  proofs: (Signed & { kind: "nonce" | "time"; nonce?: string; issued_at?: number; packed: string; text: string })[];
  papers: (Signed & { issuer_key: string; code: string })[];
  totp: { secret_hex: string; ticket: string; generation: number; issued_at: number; step: number; otp: string; code: string }[];
  gate_codes: { device: string; nonce: string; accepted_for: number; code: string }[];
  templates: { name: string; key: string; challenge: string; event?: string; ticket?: string; claim_code?: string; address?: string; text: string }[];
  claim_codes: { code: string; hash: string }[];
  base45: { hex: string; text: string }[];
  base45_bad: { text: string; why: string }[];
  mutations: { name: string; code: string; key: string; event: string; reason: string; what?: string }[];
}

const vectors = JSON.parse(readFileSync("../wallet/testdata/vectors.json", "utf8")) as Vectors;

function bytes(text: string | undefined): Bytes {
  const read = fromB64u(text ?? "");
  assert.ok(read, `base64url: ${text}`);
  return read;
}

function key(name: string): Promise<CryptoKey> {
  return importPublicKey(bytes(vectors.keys[name]?.public_key));
}

function privateKey(name: string): Promise<CryptoKey> {
  const vector = vectors.keys[name];
  return crypto.subtle.importKey("jwk", { ...vector?.jwk, d: vector?.private_key ?? "" }, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
}

function parsed(text: string): Code {
  const code = parse(text);
  assert.ok(!refused(code), `${text} is refused`);
  return code;
}

/** What a server does first with a code: parse, then verify. */
async function judge(text: string, keyName: string, event: string): Promise<string> {
  const code = parse(text);
  if (refused(code)) return [code.reason, code.what].filter(Boolean).join(" ");
  const by = await key(keyName);
  const good = code.kind === "paper" ? await verifyPaper(code, by, event) : code.kind !== "totp" && (await verifyPhone(code, by, event));
  return good ? "ok" : "bad_signature";
}

for (const vector of vectors.proofs) {
  test(`a good proof parses, verifies and prints in both forms: ${vector.name}`, async () => {
    for (const text of [vector.packed, vector.text]) {
      const code = parsed(text);
      assert.ok(code.kind === "nonce" || code.kind === "time");
      assert.equal(code.kind, vector.kind);
      assert.deepEqual([code.ticket, code.generation], [vector.ticket, vector.generation]);
      assert.equal(code.kind === "nonce" ? b64u(code.nonce) : code.issued_at, vector.nonce ?? vector.issued_at);
      assert.equal(phoneInput(code, vector.event), vector.signing_input);
      assert.equal(b64u(code.signature), vector.signature);
      assert.equal(printPacked(code), vector.packed);
      assert.equal(printText(code, vector.event), vector.text);
      assert.equal(print(code), text);
      assert.ok(await verifyPhone(code, await key(vector.key), vector.event));
    }
  });
}

for (const vector of vectors.papers) {
  test(`a paper code parses and verifies: ${vector.name}`, async () => {
    const code = parsed(vector.code);
    assert.ok(code.kind === "paper");
    assert.deepEqual([code.ticket, code.generation, b64u(code.issuer_key)], [vector.ticket, vector.generation, vector.issuer_key]);
    assert.equal(paperInput(code, vector.event, code.issuer_key), vector.signing_input);
    assert.equal(print(code), vector.code);
    assert.ok(await verifyPaper(code, await key(vector.key), vector.event));
  });
}

test("every mutation has its reason", async () => {
  assert.ok(vectors.mutations.filter((vector) => vector.reason !== "ok").length >= 30);
  for (const vector of vectors.mutations) {
    const want = [vector.reason, vector.what].filter(Boolean).join(" ");
    assert.equal(await judge(vector.code, vector.key, vector.event), want, vector.name);
  }
});

test("no character of a proof can be exchanged for another", async () => {
  const vector = vectors.proofs.find(({ kind }) => kind === "nonce");
  assert.ok(vector);
  for (let at = 0; at < vector.packed.length; at++) {
    for (const char of [base45.alphabet.charAt((at * 7) % 45), base45.alphabet.charAt((at * 7 + 13) % 45)]) {
      if (char === vector.packed[at]) continue;
      const changed = vector.packed.slice(0, at) + char + vector.packed.slice(at + 1);
      assert.notEqual(await judge(changed, vector.key, vector.event), "ok", `${char} at ${at}`);
    }
  }
});

test("one-time codes are right for their step and their pattern prints back", async () => {
  assert.ok(vectors.totp.length > 0);
  for (const vector of vectors.totp) {
    const code = parsed(vector.code);
    assert.deepEqual(code, { kind: "totp", ticket: vector.ticket, generation: vector.generation, issued_at: vector.issued_at, otp: vector.otp });
    assert.equal(step(vector.issued_at), vector.step);
    assert.equal(await oneTimeCode(await oneTimeKey(Uint8Array.from(Buffer.from(vector.secret_hex, "hex"))), vector.step), vector.otp);
  }
});

test("one-time codes are those of RFC 6238, appendix B", async () => {
  const key = await oneTimeKey(Uint8Array.from(Buffer.from("12345678901234567890")));
  // The RFC's steps are of 30 seconds; its counters are what counts here.
  const codes = [[0x1, "94287082"], [0x23523ec, "07081804"], [0x23523ed, "14050471"], [0x273ef07, "89005924"], [0x3f940aa, "69279037"], [0x27bc86aa, "65353130"]] as const;
  for (const [at, code] of codes) assert.equal(await oneTimeCode(key, at), code);
  assert.equal(key.extractable, false);
  await assert.rejects(oneTimeKey(new Uint8Array(15)), RangeError);
  await assert.rejects(oneTimeCode(key, -1), RangeError);
});

test("gate codes parse and print", () => {
  assert.ok(vectors.gate_codes.length > 0);
  for (const vector of vectors.gate_codes) {
    const code = parseGateCode(vector.code);
    assert.ok(!refused(code));
    assert.deepEqual([code.device, b64u(code.nonce), code.accepted_for], [vector.device, vector.nonce, vector.accepted_for]);
    assert.equal(printGateCode(code), vector.code);
    assert.equal(vector.code.length, 58);
  }
});

test("the templates for claiming, sessions and transfers are filled byte for byte", async () => {
  const filled: Record<string, (vector: Vectors["templates"][number]) => Promise<string>> = {
    claim: async (vector) => claimInput(bytes(vector.challenge), vector.event ?? "", await sha256(vector.claim_code ?? "")),
    session: async (vector) => sessionInput(bytes(vector.challenge), vector.ticket ?? ""),
    transfer: async (vector) => transferInput(bytes(vector.challenge), vector.ticket ?? "", await sha256(vector.address ?? "")),
  };
  assert.deepEqual(vectors.templates.map(({ name }) => name).sort(), Object.keys(filled).sort());
  for (const vector of vectors.templates) {
    assert.equal(await filled[vector.name]?.(vector), vector.text.slice(0, vector.text.lastIndexOf(".")), vector.name);
  }
});

test("what is signed here verifies, in the form and under the template of its purpose", async () => {
  const [vector] = vectors.proofs;
  assert.ok(vector);
  const [secret, open] = [await privateKey(vector.key), await key(vector.key)];
  for (const proof of [
    await signNonce(secret, vector, vector.event, bytes(vector.nonce)),
    await signTime(secret, vector, vector.event, 1_764_530_100),
  ]) {
    assert.deepEqual(parsed(printPacked(proof)), proof);
    assert.ok(await verifyPhone(proof, open, vector.event));
    assert.ok(!(await verifyPhone(proof, open, vector.ticket)));
  }
  const challenge = new Uint8Array(32);
  for (const text of [
    await signClaim(secret, challenge, vector.event, "code"),
    await signSession(secret, challenge, vector.ticket),
    await signTransfer(secret, challenge, vector.ticket, "zoe@example.org"),
  ]) {
    const at = text.lastIndexOf(".");
    assert.ok(await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, open, bytes(text.slice(at + 1)), Buffer.from(text.slice(0, at))));
    assert.deepEqual(parse(text), { reason: "not_a_ticket", what: "other" });
  }
});

test("keys have the thumbprint, the issuer key id and the JWK of the vectors", async () => {
  for (const [name, vector] of Object.entries(vectors.keys)) {
    const open = await key(name);
    const thumb = await thumbprint(open);
    assert.equal(b64u(thumb), vector.thumbprint);
    assert.equal(b64u(thumb.subarray(0, 4)), vector.issuer_key);
    assert.deepEqual(await publicJWK(open), vector.jwk);
  }
});

test("a point beside the curve is refused", async () => {
  const raw = bytes(vectors.keys["phone"]?.public_key);
  raw[63] = (raw[63] ?? 0) ^ 1;
  await assert.rejects(importPublicKey(raw));
});

test("claim codes hash as the server stores them", async () => {
  for (const vector of vectors.claim_codes) assert.equal(b64u(await sha256(vector.code)), vector.hash);
});

test("base45 has the examples of RFC 9285 and refuses what no encoder writes", () => {
  for (const { hex, text } of vectors.base45) {
    assert.equal(base45.encode(Buffer.from(hex, "hex")), text);
    assert.equal(Buffer.from(base45.decode(text) ?? "undefined").toString("hex"), hex, text);
  }
  for (const { text, why } of vectors.base45_bad) assert.equal(base45.decode(text), undefined, why);
});

test("base64url has one spelling and a UUID is not guessed", () => {
  for (const text of ["=", "AA=", "AA==", "A", "A A", "AB", "A+", "AA\n"]) assert.equal(fromB64u(text), undefined, JSON.stringify(text));
  for (const text of ["", "6f1d0f1e", "6f1d0f1e5f0a4b539d5b0a7a5c1b2e33", "zf1d0f1e-5f0a-4b53-9d5b-0a7a5c1b2e33"]) {
    assert.throws(() => bytesOf(text), TypeError);
  }
});
