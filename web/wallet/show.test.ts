import { test, type TestContext } from "node:test";
import assert from "node:assert/strict";
import { b64u } from "../proof/bytes.js";
import { base32 } from "../proof/code.js";
import { newKeyPair } from "../proof/keys.js";
import { oneTimeCode, oneTimeKey, step } from "../proof/totp.js";
import { parse } from "../proof/parse.js";
import type { News, Nonces, Standing, Standings, VenueNonce } from "./answers.js";
import { Clock } from "./clock.js";
import { Show, type Keeps } from "./show.js";
import type { Short, TicketState } from "./state.js";
import type { Held } from "./store.js";
import { during, event, held } from "./testing.js";

const ids = ["01234567-89ab-4cde-8f01-23456789ab01", "01234567-89ab-4cde-8f01-23456789ab02", "01234567-89ab-4cde-8f01-23456789ab03"];
const nonce = { venue: event.venue, open: true, nonce: "AAAAAAAAAAAAAAAAAAAAAA", accepted_for: 35 };

interface World {
  readonly show: Show;
  readonly kept: Held[][];
  /** How the tickets stand by the server, when it is asked. */
  standings: Standing[];
  /** The server's answers to questions for a short code, in their order; then there is none. */
  readonly shorts: Answers;
  /** The server's answer to the question for the secret of one-time codes; undefined: there is no network. */
  oneTime: { readonly status: number; readonly body: unknown } | undefined;
  /** The server's time less the phone's, in milliseconds, which the phone does not know. */
  ahead: number;
  /** The proofs that short codes were asked for with. */
  readonly proofs: string[];
  /** The nonce of now, if the server is asked. */
  nonce: VenueNonce | undefined;
  state(): TicketState;
  pass(milliseconds: number): Promise<void>;
  /** The face once it shows a code of this kind. */
  code(kind: string): Promise<void>;
  news(what: News["what"], place?: number, more?: Partial<News>): Promise<void>;
}

type Answers = { readonly status: number; readonly body: unknown }[];

/** Signatures that are being made: it takes real time, of which the page's own clock here knows nothing. */
let signing = 0;

function countSigning(t: TestContext): void {
  const sign = crypto.subtle.sign.bind(crypto.subtle);
  t.mock.method(crypto.subtle, "sign", async (...of: Parameters<typeof sign>) => {
    signing++;
    try {
      return await sign(...of);
    } finally {
      signing--;
    }
  });
}

/** Lets what waits for promises, and signing, run to its end. */
async function settled(): Promise<void> {
  for (let quiet = 0; quiet < 20; quiet = signing > 0 ? 0 : quiet + 1) await new Promise<void>((done) => setImmediate(done));
}

/** Waits, without time passing for the page, until something is true. */
async function until(what: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !what(); i++) await settled();
  assert.ok(what());
}

/** A phone with tickets at the time `now` without a server, whose answers the test gives. */
async function phone(t: TestContext, changes: readonly Partial<Held>[], now = during): Promise<World> {
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { onLine: true } });
  (globalThis as { document?: unknown }).document ??= { documentElement: { lang: "en" } };
  countSigning(t);
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const time = { running: 5000, server: now };
  const clock = new Clock(0, { running: () => time.running, phone: () => time.server });
  const { privateKey } = await newKeyPair();
  const tickets = changes.map((change, i) => held({ ticket: ids[i] ?? "", number: i + 1, key: privateKey, ...change }));
  const kept: Held[][] = [];
  const store: Keeps = { keep: (all) => Promise.resolve(void kept.push([...all])), keepOffset: () => Promise.resolve() };
  const show: Show = new Show(store, clock, () => undefined);
  show.take(tickets);
  const w: World = {
    show,
    kept,
    shorts: [],
    oneTime: undefined,
    ahead: 0,
    proofs: [],
    nonce: undefined,
    standings: tickets.map(({ key: _key, link: _link, oneTime: _oneTime, ...ticket }) => ticket),
    state() {
      const state = show.state();
      assert.ok(state !== undefined);
      return state;
    },
    async pass(milliseconds) {
      time.running += milliseconds;
      time.server += milliseconds;
      t.mock.timers.tick(milliseconds);
      await settled();
    },
    async code(kind) {
      // A code stays two seconds; then the next one is being signed.
      await w.pass(2100);
      await until(() => {
        const { face } = w.state();
        return face.kind === "code" && face.source === kind && face.symbol?.path.startsWith("M") === true;
      });
    },
    async news(what, place = 0, more = {}) {
      show.news({ ticket: ids[place] ?? "", what, at: new Date(time.server).toISOString(), gate: "Main entrance", ...more });
      await settled();
    },
  };
  t.mock.method(globalThis, "fetch", (path: string, init?: RequestInit) => {
    const answered = (body: unknown, status = 200) => Promise.resolve(new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } }));
    if (path === "/v1/wallet/short") {
      w.proofs.push((JSON.parse(String(init?.body)) as { proof: string }).proof);
      const short = w.shorts.shift();
      return short === undefined ? Promise.reject(new TypeError("no network")) : answered(short.body, short.status);
    }
    const serverTime = new Date(time.server + w.ahead).toISOString();
    if (path === "/v1/wallet/challenge" && (w.oneTime !== undefined || w.ahead !== 0)) return answered({ challenge: b64u(new Uint8Array(32)), server_time: serverTime });
    if (path === "/v1/wallet/totp" && w.oneTime !== undefined) return answered(w.oneTime.body, w.oneTime.status);
    if (path === "/v1/wallet/nonce" && w.nonce !== undefined) {
      const nonces: Nonces = { venues: [w.nonce], server_time: new Date(time.server).toISOString() };
      return answered(nonces);
    }
    if (path !== "/v1/wallet") return new Promise<Response>(() => undefined); // nonces are told by the tests
    const answer: Standings = { tickets: w.standings, server_time: serverTime };
    return answered(answer);
  });
  t.after(() => show.pause());
  show.resume();
  await settled();
  return w;
}

const issued = (now: number) => ({ ...nonce, issued_at: new Date(now).toISOString() });

test("in door hours there is a code within a second, whatever the network does", async (t) => {
  const w = await phone(t, [{}]);
  assert.equal(w.state().face.kind, "code");
  await w.pass(510);
  await until(() => {
    const { face } = w.state();
    return face.kind === "code" && face.source === "timed" && face.symbol !== undefined;
  });
});

test("the venue's nonce takes over, and after twenty seconds of silence the time takes over again", async (t) => {
  const w = await phone(t, [{}]);
  w.show.venue(issued(during), new Date(during).toISOString());
  await settled();
  await w.code("pushed");
  await w.pass(25_000);
  await w.code("timed");
});

test("a closed gate is no reason for an empty card", async (t) => {
  const w = await phone(t, [{}]);
  w.show.venue({ venue: event.venue, open: false }, new Date(during).toISOString());
  await w.code("timed");
  const { face } = w.state();
  assert.equal(face.kind === "code" && face.why, "closed");
});

test("what the camera read is answered at once and for every ticket of the stack", async (t) => {
  const w = await phone(t, [{}, {}]);
  w.show.answer("BBBBBBBBBBBBBBBBBBBBBA", 60);
  await w.pass(1000);
  await w.code("shown");
  w.show.turn(1);
  await settled();
  await w.code("shown");
  assert.equal(w.state().position, 2);
});

test("an admission says welcome at once, and the next ticket comes by itself", async (t) => {
  const w = await phone(t, [{}, {}, {}]);
  const [first] = w.standings;
  if (first !== undefined) w.standings[0] = { ...first, state: "used", entries: 1, admitted: { at: new Date(during).toISOString(), gate: "Main entrance" } };
  await w.news("admitted");
  const { face } = w.state();
  assert.ok(face.kind === "welcome" && face.gate === "Main entrance" && face.more && face.remaining === 0);
  await w.pass(4000);
  assert.equal(w.state().position, 2);
  assert.equal(w.state().face.kind, "code");
  assert.equal(w.kept.at(-1)?.[0]?.state, "used");
});

test("an admission whose news were missed is welcomed when the server is asked", async (t) => {
  const w = await phone(t, [{}]);
  const ticket = w.state().ticket;
  const standing: Standing = { ...ticket, state: "used", entries: 1, admitted: { at: new Date(during).toISOString(), gate: "Balcony" } };
  await w.show.standings({ tickets: [standing], server_time: new Date(during).toISOString() }, 5000);
  assert.equal(w.state().face.kind, "welcome");
  await w.pass(61_000);
  assert.equal(w.state().face.kind, "used");
});

test("an admission of an hour ago is no welcome", async (t) => {
  const w = await phone(t, [{}]);
  const standing: Standing = { ...w.state().ticket, state: "used", entries: 1, admitted: { at: new Date(during - 3600_000).toISOString(), gate: "Balcony" } };
  await w.show.standings({ tickets: [standing], server_time: new Date(during).toISOString() }, 5000);
  assert.equal(w.state().face.kind, "used");
});

test("a family's ticket says how many may still come in and shows its code again", async (t) => {
  const w = await phone(t, [{ admits: 4 }]);
  const [first] = w.standings;
  if (first !== undefined) w.standings[0] = { ...first, entries: 2, admitted: { at: new Date(during).toISOString(), gate: "Main entrance" } };
  await w.news("admitted");
  const { face } = w.state();
  assert.ok(face.kind === "welcome" && face.remaining === 2 && !face.more);
  await w.pass(6000);
  assert.equal(w.state().face.kind, "code");
  assert.equal(w.state().ticket.entries, 2);
});

test("the ticket that was let in comes on top, wherever the guest had turned", async (t) => {
  const w = await phone(t, [{}, {}]);
  w.show.turn(1);
  await w.news("admitted", 0);
  assert.equal(w.state().position, 1);
});

test("wrong gate, held and moved away are said", async (t) => {
  const w = await phone(t, [{}, {}]);
  await w.news("wrong_gate", 0, { gates: ["Balcony"] });
  assert.deepEqual(w.state().notice, { kind: "wrong_gate", gates: ["Balcony"] });
  assert.equal(w.state().face.kind, "code");
  for (const state of ["held", "revoked", "moved"] as const) {
    w.standings = w.standings.map((ticket) => ({ ...ticket, state }));
    await w.news(state);
    assert.equal(w.state().face.kind, state);
  }
});

test("an entry that was taken back shows the code again and says why", async (t) => {
  const w = await phone(t, [{}]);
  const active = w.standings;
  w.standings = active.map((ticket) => ({ ...ticket, state: "used", entries: 1, admitted: { at: new Date(during).toISOString(), gate: "A" } }));
  await w.news("admitted");
  w.standings = active;
  await w.news("undone");
  assert.equal(w.state().notice?.kind, "undone");
  assert.equal(w.state().face.kind, "code");
});

test("news of somebody else's ticket change nothing", async (t) => {
  const w = await phone(t, [{}]);
  const before = w.state();
  w.show.news({ ticket: "another", what: "revoked" });
  await settled();
  assert.deepEqual(w.state().face.kind, before.face.kind);
});

test("before the doors open the card waits, and opens by itself", async (t) => {
  const w = await phone(t, [{}], Date.parse(event.doors_open_at) - 2000);
  assert.equal(w.state().face.kind, "waiting");
  await w.pass(1000);
  await w.pass(1001);
  assert.equal(w.state().face.kind, "code");
});

test("a guest whose phone has the wrong time may have the code before", async (t) => {
  const w = await phone(t, [{}], Date.parse(event.doors_open_at) - 3600_000);
  w.show.showEarly();
  await w.code("timed");
});

test("a phone whose clock was set a day ahead since its last visit asks before it says that the event is over", async (t) => {
  const w = await phone(t, [{}], during + 24 * 3600_000);
  assert.equal(w.state().face.kind, "over");
  w.ahead = -24 * 3600_000;
  w.show.resume();
  await settled();
  assert.equal(w.state().face.kind, "code");
  assert.equal(w.state().now, during);
  await w.code("timed");
});

test("neither keys nor link are part of what is drawn", async (t) => {
  const w = await phone(t, [{ link: "secret", oneTime: await oneTimeKey(new Uint8Array(20)) }]);
  assert.deepEqual(["key", "link", "oneTime"].filter((name) => name in w.state().ticket), []);
});

const digits = (now: number, code = "482913") => ({ status: 201, body: { code, server_time: new Date(now).toISOString(), expires_at: new Date(now + 60_000).toISOString() } });
const stale = { status: 409, body: { code: "short.stale" } };

/** What the card says of the short code. */
function short(w: World): Short | undefined {
  const { face } = w.state();
  assert.ok(face.kind === "code");
  return face.short;
}

/** A phone with a live code; the time is `during` and a little. */
async function live(t: TestContext, changes: readonly Partial<Held>[]): Promise<World> {
  const w = await phone(t, changes);
  w.show.venue(issued(during), new Date(during).toISOString());
  await w.code("pushed");
  return w;
}

test("a short code is offered while the code is live and at no other time", async (t) => {
  const w = await phone(t, [{}]);
  w.show.doubt(); // without network, and with nothing to make digits from
  await w.code("timed");
  assert.equal(short(w), undefined);
  w.show.reachable(true);
  w.show.venue(issued(w.state().now), new Date(w.state().now).toISOString());
  await w.code("pushed");
  assert.deepEqual(short(w), { kind: "offered" });
  w.show.answer("BBBBBBBBBBBBBBBBBBBBBA", 60);
  await w.code("shown");
  assert.equal(short(w), undefined);
});

test("the digits of a short code count their seconds down and make room for the offer again", async (t) => {
  const w = await live(t, [{}]);
  w.shorts.push(digits(w.state().now));
  const asking = w.show.shortCode();
  assert.deepEqual(short(w), { kind: "asked" });
  await asking;
  assert.deepEqual(short(w), { kind: "shown", code: "482913", left: 60 });
  await w.pass(10_000);
  assert.deepEqual(short(w), { kind: "shown", code: "482913", left: 50 });
  await w.pass(50_000);
  w.show.doubt();
  await w.code("timed"); // the nonce is too old by now to offer another
  assert.equal(short(w), undefined);
  w.show.venue({ ...issued(w.state().now), nonce: "CCCCCCCCCCCCCCCCCCCCCA" }, new Date(w.state().now).toISOString());
  await w.code("pushed");
  assert.deepEqual(short(w), { kind: "offered" });
});

test("digits stay for their minute when the network goes", async (t) => {
  const w = await live(t, [{}]);
  w.shorts.push(digits(w.state().now));
  await w.show.shortCode();
  w.show.doubt();
  await w.pass(25_000);
  await w.code("timed");
  assert.equal(short(w)?.kind, "shown");
});

test("a short code over a stale nonce is asked for once more over the newest, and only once", async (t) => {
  const w = await live(t, [{}]);
  w.nonce = { ...issued(w.state().now), nonce: "CCCCCCCCCCCCCCCCCCCCCA" };
  w.shorts.push(stale, stale, digits(w.state().now));
  await w.show.shortCode();
  assert.deepEqual(short(w), { kind: "failed" });
  assert.equal(w.shorts.length, 1);
});

test("the second proof is over the nonce that the server has by then", async (t) => {
  const w = await live(t, [{}]);
  w.nonce = { ...issued(w.state().now), nonce: "CCCCCCCCCCCCCCCCCCCCCA" };
  w.shorts.push(stale, digits(w.state().now));
  await w.show.shortCode();
  assert.equal(short(w)?.kind, "shown");
  assert.deepEqual(
    w.proofs.map(parse).map((code) => "nonce" in code && b64u(code.nonce)),
    [nonce.nonce, "CCCCCCCCCCCCCCCCCCCCCA"],
  );
});

test("without an answer the offer comes back after a while", async (t) => {
  const w = await live(t, [{}]);
  await w.show.shortCode();
  assert.deepEqual(short(w), { kind: "failed" });
  await w.pass(10_000);
  await w.code("pushed");
  assert.deepEqual(short(w), { kind: "offered" });
});

test("digits belong to one ticket and end with its admission", async (t) => {
  const w = await live(t, [{ admits: 4 }, {}]);
  w.shorts.push(digits(w.state().now));
  await w.show.shortCode();
  w.show.turn(1);
  await w.code("pushed");
  assert.deepEqual(short(w), { kind: "offered" });
  w.show.turn(-1);
  await w.code("pushed");
  assert.equal(short(w)?.kind, "shown");
  const [first] = w.standings;
  if (first !== undefined) w.standings[0] = { ...first, entries: 1, admitted: { at: new Date(during).toISOString(), gate: "Main entrance" } };
  await w.news("admitted");
  await w.pass(6000);
  await w.code("pushed");
  assert.deepEqual(short(w), { kind: "offered" });
});

// Digits that the phone makes by itself, of RFC 6238's own secret.

const secret = Uint8Array.from(Buffer.from("12345678901234567890"));
const given = { status: 200, body: { secret: base32(secret) } };
const notForEvent = { status: 409, body: { code: "totp.not_for_event" } };

/** The digits that are right at a time, in milliseconds. */
async function right(now: number): Promise<string> {
  return oneTimeCode(await oneTimeKey(secret), step(now / 1000));
}

/** The digits on the card, once they are those of this moment. */
async function own(w: World): Promise<Extract<Short, { kind: "own" }>> {
  const code = await right(w.state().now);
  await until(() => {
    const now = short(w);
    return now?.kind === "own" && now.code === code;
  });
  return short(w) as Extract<Short, { kind: "own" }>;
}

test("who asked for digits while there was network has some when there is none, new ones at each step", async (t) => {
  const w = await live(t, [{}]);
  w.oneTime = given;
  w.shorts.push(digits(w.state().now));
  await w.show.shortCode();
  await until(() => w.kept.some(([ticket]) => ticket?.oneTime !== undefined));
  assert.equal(w.kept.at(-1)?.[0]?.oneTime?.extractable, false);
  w.oneTime = undefined;
  w.show.doubt();
  await w.pass(70_000);
  await w.code("timed");
  assert.deepEqual(short(w), { kind: "offered" });
  await w.show.shortCode();
  const first = await own(w);
  assert.equal(first.number, 1);
  assert.ok(first.left >= 1 && first.left <= 15);
  await w.pass(first.left * 1000);
  assert.notEqual((await own(w)).code, first.code);
  await w.pass(60_000);
  assert.deepEqual(short(w), { kind: "offered" });
});

test("before the gate opens digits are had by asking, and who has no network and never asked is offered none", async (t) => {
  const w = await phone(t, [{}]);
  await w.code("timed");
  assert.deepEqual(short(w), { kind: "offered" });
  w.oneTime = { status: 503, body: { code: "server.busy" } };
  await w.show.shortCode();
  assert.deepEqual(short(w), { kind: "failed" });
  w.oneTime = given;
  await w.pass(10_000);
  await w.show.shortCode();
  await own(w);
});

test("an event that takes no such digits says so once and is not asked again at every press", async (t) => {
  const w = await phone(t, [{}]);
  w.oneTime = notForEvent;
  await w.code("timed");
  await w.show.shortCode();
  assert.deepEqual(short(w), { kind: "refused" });
  await w.pass(60_000);
  assert.deepEqual(short(w), { kind: "refused" });
});

test("a claim that came in the place of another has a secret of its own", async (t) => {
  const w = await phone(t, [{}]);
  w.oneTime = given;
  await w.code("timed");
  await w.show.shortCode();
  await own(w);
  w.oneTime = undefined;
  const [first] = w.kept.at(-1) ?? [];
  assert.ok(first?.oneTime !== undefined);
  const { oneTime: _old, ...again } = first;
  w.show.take([{ ...again, generation: 2 }]);
  assert.notEqual(short(w)?.kind, "own");
});
