import { test, type TestContext } from "node:test";
import assert from "node:assert/strict";
import type { News, VenueNonce } from "./answers.js";
import { Follower, type Hears } from "./follow.js";

/** A stream that the test speaks through. */
class Stream extends EventTarget {
  static all: Stream[] = [];
  closed = false;
  constructor() {
    super();
    Stream.all.push(this);
  }
  close(): void {
    this.closed = true;
  }
  say(name: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

interface World {
  readonly heard: string[];
  readonly follower: Follower;
  status: number;
  asked: string[];
  network: boolean;
}

function world(t: TestContext): World {
  Stream.all = [];
  (globalThis as { EventSource?: unknown }).EventSource = Stream;
  (globalThis as { document?: unknown }).document ??= { documentElement: { lang: "en" } };
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const heard: string[] = [];
  const hears: Hears = {
    nonces: () => void heard.push("nonces"),
    standings: () => void heard.push("standings"),
    venue: (venue: VenueNonce) => void heard.push(venue.open ? `nonce ${venue.nonce}` : "closed"),
    news: (news: News) => void heard.push(`news ${news.what}`),
    reachable: (reachable) => void heard.push(reachable ? "reachable" : "unreachable"),
    prove: () => {
      heard.push("prove");
      w.status = 200;
      return Promise.resolve();
    },
  };
  const w: World = { heard, follower: new Follower(hears, () => performance.now()), status: 200, asked: [], network: true };
  t.mock.method(globalThis, "fetch", (path: string) => {
    w.asked.push(path);
    if (!w.network) return Promise.reject(new TypeError("no network"));
    const body = w.status === 200 ? { venues: [], tickets: [], server_time: "" } : { code: "session.wallet_required" };
    return Promise.resolve(new Response(JSON.stringify(body), { status: w.status, headers: { "Content-Type": "application/json" } }));
  });
  t.after(() => w.follower.stop());
  return w;
}

// Lets everything that waits for promises alone run.
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise<void>((done) => setImmediate(done));
}

test("it asks first, then listens", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  assert.deepEqual(w.asked, ["/v1/wallet/nonce", "/v1/wallet"]);
  assert.deepEqual(w.heard, ["nonces", "standings", "reachable"]);
  Stream.all[0]?.say("nonce", { venue: "v", nonce: "A", server_time: "" });
  Stream.all[0]?.say("closed", { venue: "v", server_time: "" });
  Stream.all[0]?.say("ticket", { ticket: "t", what: "admitted" });
  assert.deepEqual(w.heard.slice(3), ["nonce A", "closed", "news admitted"]);
});

test("a browser that the server does not know opens a session and asks again", async (t) => {
  const w = world(t);
  w.status = 401;
  w.follower.start();
  await settled();
  assert.deepEqual(w.heard, ["prove", "nonces", "standings", "reachable"]);
});

test("stopped it closes its stream and asks nothing; started again it asks before it listens", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  w.follower.stop();
  await settled();
  assert.equal(Stream.all[0]?.closed, true);
  t.mock.timers.tick(60_000);
  await settled();
  assert.equal(w.asked.length, 2);
  w.follower.start();
  await settled();
  assert.equal(w.asked.length, 4);
  assert.equal(Stream.all.length, 2);
});

test("a stream that breaks is followed by questions, then by another stream", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  Stream.all[0]?.say("nonce", { venue: "v", nonce: "A", server_time: "" });
  Stream.all[0]?.dispatchEvent(new Event("error"));
  await settled();
  t.mock.timers.tick(2_000);
  await settled();
  assert.equal(w.asked.length, 4);
  assert.equal(Stream.all.length, 2);
});

test("a stream that stays silent after a nonce is not believed", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  Stream.all[0]?.say("nonce", { venue: "v", nonce: "A", server_time: "" });
  t.mock.timers.tick(18_000);
  await settled();
  assert.equal(Stream.all[0]?.closed, true);
});

test("where streams are cut it asks every five seconds, and tries a stream again later", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  for (let i = 0; i < 2; i++) {
    Stream.all.at(-1)?.dispatchEvent(new Event("error"));
    await settled();
    t.mock.timers.tick(2_000);
    await settled();
  }
  assert.equal(Stream.all.length, 2);
  const asked = w.asked.length;
  for (let i = 1; i <= 3; i++) {
    t.mock.timers.tick(5_000);
    await settled();
    assert.equal(w.asked.length, asked + 2 * i);
  }
  assert.equal(Stream.all.length, 2);
});

test("without network it says so and goes on asking, at most every seven seconds", async (t) => {
  const w = world(t);
  w.network = false;
  w.follower.start();
  await settled();
  assert.deepEqual(w.heard, ["unreachable"]);
  for (let i = 0; i < 5; i++) {
    const asked = w.asked.length;
    t.mock.timers.tick(7_000);
    await settled();
    assert.equal(w.asked.length, asked + 2);
  }
  w.network = true;
  t.mock.timers.tick(7_000);
  await settled();
  assert.equal(w.heard.at(-1), "reachable");
});

test("news that were missed are asked for at once", async (t) => {
  const w = world(t);
  w.follower.start();
  await settled();
  Stream.all[0]?.say("refresh", {});
  await settled();
  t.mock.timers.tick(2_000);
  await settled();
  assert.equal(w.heard.filter((what) => what === "standings").length, 2);
});
