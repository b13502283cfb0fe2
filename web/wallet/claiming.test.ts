import { test, type TestContext } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import { b64u } from "../proof/bytes.js";
import type { ClaimKey, Offer } from "./answers.js";
import { CannotKeep, finish, prepare, type Keeps } from "./claiming.js";
import type { Held, Pending } from "./store.js";
import { claimable } from "./stack.js";
import { event, offer, offered } from "./testing.js";

const tickets = ["01234567-89ab-4cde-8f01-23456789abcd", "01234567-89ab-4cde-8f01-23456789abce"];
const link: Offer = offer({ challenge: b64u(new Uint8Array(32)), tickets: tickets.map((ticket, i) => offered({ ticket, number: i + 1 })) });

/** A store in memory that keeps what structured cloning keeps, as IndexedDB does. */
class Memory implements Keeps {
  code: string | undefined;
  pending: Pending[] = [];
  held: Held[] = [];
  begin(code: string, pending: readonly Pending[]): Promise<void> {
    this.code = code;
    this.pending = pending.map((one) => structuredClone(one));
    return Promise.resolve();
  }
  unfinished() {
    const { code, pending } = this;
    return Promise.resolve(code === undefined || pending.length === 0 ? undefined : { code, pending: pending.map((one) => structuredClone(one)) });
  }
  claimed(held: readonly Held[]): Promise<void> {
    this.held.push(...held);
    for (const { ticket } of held) this.pending = this.pending.filter((one) => one.ticket !== ticket);
    return Promise.resolve();
  }
  dropPending(ticket: string): Promise<void> {
    this.pending = this.pending.filter((one) => one.ticket !== ticket);
    return Promise.resolve();
  }
  end(): Promise<void> {
    this.code = undefined;
    this.pending = [];
    return Promise.resolve();
  }
}

type Reply = "bind" | "lose" | { readonly status: number; readonly code: string; readonly ticket?: string };

/** A server that answers one claim after the other as told, and remembers the keys of each. */
function server(t: TestContext, ...replies: Reply[]): ClaimKey[][] {
  const claims: ClaimKey[][] = [];
  const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json" } });
  (globalThis as { document?: unknown }).document ??= { documentElement: { lang: "en" } };
  t.mock.method(globalThis, "fetch", (path: string, init: RequestInit) => {
    if (path === "/v1/claims/challenge") return Promise.resolve(json(200, link));
    const { keys } = JSON.parse(String(init.body)) as { keys: ClaimKey[] };
    claims.push(keys);
    const reply = replies[claims.length - 1] ?? "bind";
    if (reply === "lose") return Promise.reject(new TypeError("the connection was cut"));
    if (reply !== "bind") return Promise.resolve(json(reply.status, { code: reply.code, facts: { ticket: reply.ticket } }));
    const bound = keys.map(({ ticket }) => ({ ticket, generation: 1, event, number: 1, seat: "", category: "Standard", admits: 1 }));
    return Promise.resolve(json(201, { tickets: bound, server_time: link.server_time }));
  });
  return claims;
}

const names = (keys: readonly ClaimKey[] | undefined) => keys?.map(({ ticket, jwk }) => `${ticket} ${jwk.x}`).sort();

test("all tickets of a link are claimed with a key each, and the kept keys are not exportable", async (t) => {
  const claims = server(t);
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  const held = await finish(store);
  assert.deepEqual(held.map(({ ticket }) => ticket).sort(), tickets);
  assert.equal(new Set(claims[0]?.map(({ jwk }) => jwk.x)).size, 2);
  assert.ok(held.every(({ key }) => !key.extractable && key.usages.join() === "sign"));
  assert.deepEqual(store.held, held);
  assert.equal(await store.unfinished(), undefined);
});

test("an answer that was lost costs nothing: the same keys are sent again, even by another visit", async (t) => {
  const claims = server(t, "lose", "lose", "bind");
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  await assert.rejects(finish(store), Unreachable);
  await assert.rejects(finish(store), Unreachable);
  assert.equal((await finish(store)).length, 2);
  assert.deepEqual(names(claims[1]), names(claims[0]));
  assert.deepEqual(names(claims[2]), names(claims[0]));
});

test("a server that is too busy is asked again later with the same keys", async (t) => {
  const claims = server(t, { status: 429, code: "request.too_many" }, { status: 500, code: "internal" }, "bind");
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  await assert.rejects(finish(store), Problem);
  await assert.rejects(finish(store), Problem);
  await finish(store);
  assert.deepEqual(names(claims[2]), names(claims[0]));
});

test("a challenge that ended is replaced without the guest noticing", async (t) => {
  const claims = server(t, { status: 410, code: "claim.challenge_ended" }, "bind");
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  assert.equal((await finish(store)).length, 2);
  assert.equal(claims.length, 2);
});

test("a ticket that another phone took meanwhile does not keep the others away", async (t) => {
  server(t, { status: 409, code: "claim.taken", ticket: tickets[0] ?? "" }, "bind");
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  assert.deepEqual((await finish(store)).map(({ ticket }) => ticket), [tickets[1]]);
});

test("when everything is taken the claim ends with the server's reason and leaves nothing behind", async (t) => {
  server(t, { status: 409, code: "claim.taken", ticket: tickets[0] ?? "" }, { status: 409, code: "claim.taken", ticket: tickets[1] ?? "" });
  const store = new Memory();
  await prepare(store, "code", link.tickets);
  await assert.rejects(finish(store), (error) => error instanceof Problem && error.code === "claim.taken");
  assert.equal(store.code, undefined);
  assert.deepEqual(store.held, []);
});

test("tickets that cannot be claimed get no key", async () => {
  const store = new Memory();
  await prepare(store, "code", claimable({ ...link, tickets: [offered({ ticket: tickets[0] ?? "" }), offered({ ticket: tickets[1] ?? "", claimable: false })] }));
  assert.deepEqual(store.pending.map(({ ticket }) => ticket), [tickets[0]]);
});

test("a browser that loses or refuses keys is found out before anything is sent", async () => {
  const forgetful = new Memory();
  forgetful.unfinished = () => Promise.resolve(undefined);
  await assert.rejects(prepare(forgetful, "code", link.tickets), CannotKeep);
  const refusing = new Memory();
  refusing.begin = () => Promise.reject(new DOMException("", "DataCloneError"));
  await assert.rejects(prepare(refusing, "code", link.tickets), CannotKeep);
});

test("a browser that gives back another key than it got is found out too", async () => {
  const store = new Memory();
  const other = new Memory();
  await prepare(other, "code", link.tickets);
  const given = store.unfinished.bind(store);
  store.unfinished = async () => {
    const rest = await given();
    const wrong = other.pending[0]?.pair.privateKey;
    return rest && wrong && { ...rest, pending: rest.pending.map((one) => ({ ...one, pair: { ...one.pair, publicKey: one.pair.publicKey, privateKey: wrong } })) };
  };
  await assert.rejects(prepare(store, "code", link.tickets), CannotKeep);
});
