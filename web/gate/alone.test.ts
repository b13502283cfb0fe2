import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { Unreachable } from "../shared/api.js";
import { b64u, fromB64u, type Bytes } from "../proof/bytes.js";
import { print, printPacked, type PaperCode } from "../proof/code.js";
import { importPublicKey, newKeyPair, publicJWK, signNonce, signTime } from "../proof/keys.js";
import { parse, parseGateCode, refused } from "../proof/parse.js";
import { paperInput } from "../proof/templates.js";
import { Alone, type Asked } from "./alone.js";
import { AloneStore } from "./alonestore.js";
import type { Device } from "./answers.js";
import type { Head } from "./pack.js";
import { gate as ours, id, part, row, sign, signer, type Signer } from "./testpack.js";
import type { BatchScan } from "./uploads.js";

const event = id(77);
const device: Device = {
  device: id(500),
  name: "Door phone 1",
  venue: { venue: id(1), name: "Kino Aurora", time_zone: "Europe/Prague" },
  gates: [{ gate: ours, name: "A" }],
  person: { person: id(600), name: "Karel", rights: ["scan", "override"] },
  people: [],
};

type Event = Head["events"][number];

function showing(more: Partial<Event> = {}): Event {
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const hours = { doors_open_at: at(-30), starts_at: at(10), ends_at: at(120) };
  const categories = [{ id: id(88), name: "Standard", gates: [], paper: true, valid_from: null, valid_until: null }];
  return { id: event, name: "Playtime", screen: "Screen 3", ...hours, reentry: false, freshness: "assisted", rescan: "show_time", rescan_window_seconds: 300, offline: "any", categories, ...more };
}

/** A gate without network that got a pack before. */
async function world(us: Signer, rows: string, events: readonly Event[] = [showing()], head: Partial<Head> = {}, person = device.person) {
  const sent: BatchScan[] = [];
  let packs = 1;
  let network = false;
  let refresh: (() => void)[] = [];
  const gate = head.gate ?? ours;
  const alone = await Alone.open({
    store: await AloneStore.open(),
    device: { ...device, ...(person && { person }) },
    gate: { gate, name: "A" },
    keys: async () => [us.issuer],
    fetch: async () => {
      if (packs-- <= 0) throw new Unreachable("network");
      return part(us, rows, { head: { made_at: new Date().toISOString(), events, gates: [{ id: gate, name: "A" }, { id: id(9), name: "B" }], ...head } });
    },
    send: async (scans) => {
      if (!network) throw new Unreachable("network");
      sent.push(...scans);
      return { received_at: "", verdicts: scans.map(({ key }) => ({ key, verdict: "recorded", replayed: false })) };
    },
    wait: (_milliseconds, then) => {
      refresh.push(then);
      return () => void (refresh = refresh.filter((one) => one !== then));
    },
    changed: () => undefined,
    heard: () => undefined,
  });
  for (let i = 0; i < 1_000 && alone.data.kind === "none"; i++) await new Promise((done) => setTimeout(done, 5));
  let keys = 0;
  const judge = (ticket: string, code: string, more: Partial<Asked> = {}) =>
    alone.judge({ key: `key ${++keys}`, ticket, code, direction: "in", scanned_at: new Date().toISOString(), ...more });
  const online = async () => {
    network = true;
    alone.hurry();
    for (let i = 0; i < 50 && alone.unsent > 0; i++) await new Promise((done) => setTimeout(done, 2));
  };
  return { alone, judge, online, sent };
}

async function paper(us: Signer, n: number, generation = 1, of = event): Promise<string> {
  const issuer_key = fromB64u(us.issuer.kid) as Bytes;
  const signature = await sign(us, paperInput({ ticket: id(n), generation }, of, issuer_key));
  return print({ kind: "paper", ticket: id(n), generation, issuer_key, signature } satisfies PaperCode);
}

async function phone() {
  const pair = await newKeyPair();
  const { x, y } = await publicJWK(pair.publicKey);
  const key = b64u(Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]));
  const claim = (n: number) => ({ ticket: id(n), generation: 1 });
  return {
    key,
    nonce: async (n: number, nonce: Bytes, of = event) => printPacked(await signNonce(pair.privateKey, claim(n), of, nonce)),
    time: async (n: number, at: number) => printPacked(await signTime(pair.privateKey, claim(n), event, Math.floor(at / 1000))),
  };
}

const short = ({ reason, verdict, class: cls }: { reason: string; verdict: string; class: string }) => `${reason} ${verdict} ${cls}`;

test("paper is let in once, and the scan is kept before it is told", async () => {
  const us = await signer();
  const { alone, judge, online, sent } = await world(us, row(1));
  const first = await judge(id(1), await paper(us, 1));
  assert.equal(short(first), "admitted admit admit");
  assert.deepEqual([first.alone, first.ticket?.seat, first.ticket?.screen, first.kind], ["decided", "F1", "Screen 3", "paper"]);
  assert.equal(alone.unsent, 1);
  const second = await judge(id(1), await paper(us, 1));
  assert.equal(short(second), "already_used refuse ask");
  assert.deepEqual([second.first_use?.person, second.first_use?.gate_name, second.first_use?.same_device], ["Karel", "A", true]);
  await online();
  assert.equal(alone.unsent, 0);
  assert.deepEqual(sent.map(({ key, verdict, reason, event: of, pack, person }) => [key, verdict, reason, of, pack, person]), [
    ["key 1", "admitted", "admitted", event, "7", id(600)],
    ["key 2", "refused", "already_used", event, "7", id(600)],
  ]);
});

test("a phone that scanned this gate's own code is let in; one that signed another nonce is asked to scan it", async () => {
  const [us, guest] = [await signer(), await phone()];
  const { alone, judge } = await world(us, row(1, { key: guest.key }));
  const shown = parseGateCode((await alone.ownCode()).code ?? "");
  assert.ok(!refused(shown));
  assert.deepEqual([shown.device, shown.accepted_for], [device.device, 60]);
  assert.equal(short(await judge(id(1), await guest.nonce(1, new Uint8Array(16)))), "unknown_nonce retry again");
  assert.equal(alone.unsent, 0, "a “once more” is no end of a scan");
  assert.equal(short(await judge(id(1), await guest.nonce(1, shown.nonce))), "admitted admit admit");
});

test("a phone's time counts when the controller says that the phone has no network, by the server's clock", async () => {
  const [us, guest] = [await signer(), await phone()];
  const { alone, judge } = await world(us, row(1, { key: guest.key }) + row(2, { key: guest.key }));
  const now = Date.now();
  assert.equal(short(await judge(id(1), await guest.time(1, now))), "needs_assist retry ask");
  assert.equal(short(await judge(id(1), await guest.time(1, now - 7_200_000), { phone_offline: true })), "clock_skew retry again");
  assert.equal(short(await judge(id(1), await guest.time(1, now), { phone_offline: true })), "admitted admit admit");
  // This device is ninety minutes slow, which is not the guest's fault.
  alone.learn(new Date(now + 5_400_000).toISOString(), Date.now());
  assert.equal(short(await judge(id(2), await guest.time(2, now + 5_400_000), { phone_offline: true })), "admitted admit admit");
});

test("another phone's signature, and paper that another issuer printed, are not genuine", async () => {
  const [us, guest, thief] = [await signer(), await phone(), await phone()];
  const { alone, judge } = await world(us, row(1, { key: guest.key }) + row(2));
  const shown = parseGateCode((await alone.ownCode()).code ?? "");
  assert.ok(!refused(shown));
  assert.equal(short(await judge(id(1), await thief.nonce(1, shown.nonce))), "bad_signature refuse refuse");
  const { secret } = await signer();
  const forged = await judge(id(2), await paper({ ...us, secret }, 2));
  assert.equal(short(forged), "bad_signature refuse refuse");
  assert.equal(forged.ticket, undefined, "nothing is said of a ticket before its signature is good");
});

test("what the page does not have it does not call invalid", async () => {
  const us = await signer();
  const code = await paper(us, 1);
  const stale = new Date(Date.now() - 25 * 3_600_000).toISOString();
  for (const [why, rows, events, head] of [
    ["no events", "", [], {}],
    ["another event's", row(2), [showing()], {}],
    ["25 hours old", row(1), [showing()], { made_at: stale }],
  ] as const) {
    const { judge, alone } = await world(us, rows, events, head);
    const answer = await judge(id(1), code);
    assert.equal(short(answer), "not_in_pack refuse ask", why);
    assert.equal(answer.alone, alone.data.kind === "ready" ? "decided" : "no_data", why);
    assert.deepEqual(answer.actions, ["override"], why);
  }
});

test("whoever may, lets in by judgement once a ticket, and the server is told against what", async () => {
  const us = await signer();
  const { judge, online, sent } = await world(us, row(2));
  const code = await paper(us, 1);
  assert.deepEqual((await judge(id(1), code, { key: "k" })).actions, ["override"]);
  const over = await judge(id(1), code, { key: "k", override: true });
  assert.deepEqual([short(over), over.overridden], ["admitted admit admit", ["not_in_pack"]]);
  assert.deepEqual((await judge(id(1), code)).actions, [], "a second time is a supervisor's");
  await online();
  assert.deepEqual(sent.map(({ key, verdict, reason }) => [key, verdict, reason]).slice(0, 2), [["k", "refused", "not_in_pack"], ["k", "admitted", "not_in_pack"]]);
  const scanner = await world(us, row(2), [showing()], {}, { person: id(600), name: "Karel", rights: ["scan"] });
  assert.equal(short(await scanner.judge(id(1), code, { override: true })), "not_in_pack refuse ask", "without the right nothing changes");
});

test("an answer that nobody saw is given again under its key", async () => {
  const us = await signer();
  const { alone, judge, online, sent } = await world(us, row(1));
  await judge(id(1), await paper(us, 1), { key: "k" });
  assert.equal(alone.unseen(id(1), "in"), "k");
  const again = await judge(id(1), await paper(us, 1), { key: "k" });
  assert.deepEqual([short(again), again.replayed], ["admitted admit admit", true]);
  await alone.seen("k");
  assert.equal(alone.unseen(id(1), "in"), undefined);
  await online();
  assert.equal(sent.length, 1);
});

test("what the server let in through this device counts, though the pack is older", async () => {
  const us = await signer();
  const { alone, judge } = await world(us, row(1, { people: 4, entries: 1, inside: 1 }));
  const known = await judge(id(1), await paper(us, 1));
  assert.deepEqual([known.reason, known.remaining], ["choose_people", 3]);
  assert.ok(known.ticket);
  await alone.let({ ...known, verdict: "admit", people: 2 }, "online");
  const now = await judge(id(1), await paper(us, 1));
  assert.deepEqual([now.reason, now.remaining], ["choose_people", 1]);
});

test("where people go in and out, a pack and this device's scans say who is inside", async () => {
  const us = await signer();
  const { judge } = await world(us, row(1, { entries: 1, inside: 1 }), [showing({ reentry: true })]);
  const code = await paper(us, 1);
  assert.equal(short(await judge(id(1), code)), "already_inside refuse ask");
  assert.equal(short(await judge(id(1), code, { direction: "out" })), "admitted admit admit");
  assert.equal(short(await judge(id(1), code, { direction: "out" })), "not_inside refuse ask");
  assert.equal(short(await judge(id(1), code)), "admitted admit admit");
});

test("two events at one gate: each scan goes to its own, with its own rules", async () => {
  const us = await signer();
  const other = { ...showing({ id: id(78), name: "Trafic" }), categories: [{ id: id(89), name: "Standard", gates: [], paper: false, valid_from: null, valid_until: null }] };
  const second = row(2).replace('"",0,0,', '"",1,0,');
  const { judge, online, sent } = await world(us, row(1) + second, [showing(), other]);
  assert.equal((await judge(id(1), await paper(us, 1))).reason, "admitted");
  assert.equal((await judge(id(2), await paper(us, 2, 1, id(78)))).reason, "paper_not_allowed");
  await online();
  assert.deepEqual(sent.map(({ event: of, reason }) => [of, reason]), [[event, "admitted"], [id(78), "paper_not_allowed"]]);
});

test("ids of event, category, gate and ticket that are one number do not mix, nor do those that differ", async () => {
  const us = await signer();
  const same = showing({ id: id(1), categories: [{ id: id(1), name: "Standard", gates: [id(1)], paper: true, valid_from: null, valid_until: null }] });
  const one = await world(us, row(1), [same], { gate: id(1) });
  assert.equal((await one.judge(id(1), await paper(us, 1, 1, id(1)))).reason, "admitted");
  assert.equal((await one.judge(id(1), await paper(us, 1, 1, id(2)))).reason, "bad_signature", "it is another event's");
  const elsewhere = showing({ categories: [{ id: id(88), name: "Balcony", gates: [id(9)], paper: true, valid_from: null, valid_until: null }] });
  const two = await world(us, row(1), [elsewhere]);
  const answer = await two.judge(id(1), await paper(us, 1));
  assert.deepEqual([answer.reason, answer.gates], ["wrong_gate", [{ gate: id(9), name: "B" }]]);
});

test("a one-time code cannot be checked without network: the phone scans this gate's code instead", async () => {
  const us = await signer();
  const { judge, alone } = await world(us, row(1));
  for (const code of ["123456", "148 12345678"]) assert.equal(short(await judge(`short ${code}`, code)), "fallback_refused retry again");
  assert.equal(alone.unsent, 0);
});

// The codes that the server's own implementation writes: what verifies there and what does not.
interface Vectors {
  keys: Record<string, { public_key: string; jwk: { x: string; y: string }; issuer_key: string }>;
  papers: { key: string; event: string; ticket: string; generation: number; code: string }[];
  mutations: { name: string; code: string; key: string; event: string; reason: string }[];
}

test("good and changed codes of the shared vectors have their reasons here too", async () => {
  const vectors = JSON.parse(readFileSync("../wallet/testdata/vectors.json", "utf8")) as Vectors;
  const us = await signer();
  let judged = 0;
  for (const { code, key, event: of, reason, name } of vectors.mutations) {
    const vector = vectors.keys[key];
    const read = parse(code);
    if (vector === undefined || refused(read) || read.kind === "totp") continue;
    await importPublicKey(fromB64u(vector.public_key) as Bytes);
    const line = row(1, { generation: read.generation, key: read.kind === "paper" ? "" : vector.public_key }).replace(/"[^"]*"/, JSON.stringify(b64u(Buffer.from(read.ticket.replaceAll("-", ""), "hex"))));
    const issuer = { kid: vector.issuer_key, x: vector.jwk.x, y: vector.jwk.y };
    const { judge } = await world(us, line, [showing({ id: of, freshness: "open" })], { issuer_keys: [us.issuer, issuer] });
    const answer = await judge(read.ticket, code);
    assert.equal(answer.reason === "bad_signature" ? "bad_signature" : "ok", reason, `${name}: ${answer.reason}`);
    judged++;
  }
  assert.ok(judged >= 15, `${judged} were judged`);
});

test("among fifty thousand tickets a pack is usable soon and a decision takes no time", async () => {
  const [us, guest] = [await signer(), await phone()];
  const strangers = Array.from({ length: 50_000 }, (_, n) => row(n + 10, { key: b64u(crypto.getRandomValues(new Uint8Array(64))) }));
  const bytes = await part(us, strangers.join("") + row(1, { key: guest.key }), { head: { events: [showing()] } });
  const wire = gzipSync(bytes).length;
  assert.ok(wire < 6_000_000, `${wire} bytes over the wire`);
  const from = performance.now();
  const { alone, judge } = await world(us, strangers.join("") + row(1, { key: guest.key }));
  const usable = performance.now() - from;
  const shown = parseGateCode((await alone.ownCode()).code ?? "");
  assert.ok(!refused(shown));
  const code = await guest.nonce(1, shown.nonce);
  const before = performance.now();
  assert.equal((await judge(id(1), code)).reason, "admitted");
  const decided = performance.now() - before;
  console.log(`${wire} bytes; usable after ${Math.round(usable)} ms, decided in ${decided.toFixed(1)} ms`);
  assert.ok(usable < 5_000, `usable after ${usable} ms`);
  assert.ok(decided < 300, `decided in ${decided} ms`);
});
