import { test } from "node:test";
import assert from "node:assert/strict";
import { utf8, type Bytes } from "../proof/bytes.js";
import { BadPack, readPart, Tickets, type IssuerKey } from "./pack.js";
import { gate, id, part, row, signer } from "./testpack.js";

const from = (...keys: IssuerKey[]) => async (kid: string) => keys.find((key) => key.kid === kid);

test("a part that the issuer signed is read, each ticket by its id", async () => {
  const us = await signer();
  const read = await readPart(await part(us, row(1) + row(2, { status: "h", extra: 1 }), { after: "x" }), gate, from(us.issuer));
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
  for (const [why, bytes] of spoilt) await assert.rejects(readPart(bytes, gate, from(us.issuer)), BadPack, why);
});

test("a delta replaces the lines of its tickets, and many deltas become one", () => {
  const tickets = new Tickets();
  tickets.add(row(1) + row(2) + row(3));
  tickets.add(row(2, { status: "r" }));
  tickets.add(row(4) + row(2, { status: "h" }));
  assert.equal(tickets.size, 4);
  assert.equal(tickets.find(id(1))?.status, "a");
  assert.equal(tickets.find(id(2))?.status, "h");
  const one = new Tickets();
  one.add(row(2));
  one.add(tickets.latest(1));
  assert.equal(one.size, 2);
  assert.equal(one.find(id(2))?.status, "h");
});
