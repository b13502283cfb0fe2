import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import type { Answer } from "./answers.js";
import type { Scan } from "./calls.js";
import { backOff, Outbox, type Outcome, type Stored, type Surroundings } from "./outbox.js";

const scan: Scan = { gate: "g", code: "code 1", scanned_at: "2026-01-01T00:00:00Z" };
const answer = (verdict: Answer["verdict"]): Answer => ({
  verdict,
  class: "admit",
  reason: "r",
  replayed: false,
  title: "",
  advice: "",
  actions: [],
  server_time: "",
});
const problem = (status: number, code = "x") => new Problem({ status, retryAfter: 0 }, { code });

interface Call {
  readonly scan: Scan;
  readonly key: string;
  answer(answer: Answer): Promise<void>;
  fail(error: unknown): Promise<void>;
}

/** A world whose server answers when the test says so, and whose waits end when the test says so. */
function world() {
  const calls: Call[] = [];
  const shelf = new Map<string, Stored>();
  const decided: { scan: Stored; outcome: Outcome }[] = [];
  const waits: { milliseconds: number; then: () => void }[] = [];
  const network: boolean[] = [];
  let barred = 0;
  let keys = 0;
  const around: Surroundings = {
    send: (sent, key) => {
      assert.ok(shelf.has(key), "a scan was sent before it was stored");
      return new Promise((resolve, reject) => {
        calls.push({
          scan: sent,
          key,
          answer: async (value) => (resolve(value), settled()),
          fail: async (error) => (reject(error), settled()),
        });
      });
    },
    put: async (stored) => void shelf.set(stored.key, stored),
    delete: async (key) => void shelf.delete(key),
    newKey: () => `key ${++keys}`,
    wait: (milliseconds, then) => {
      const entry = { milliseconds, then };
      waits.push(entry);
      return () => void (waits.includes(entry) && waits.splice(waits.indexOf(entry), 1));
    },
    decided: (stored, outcome) => void decided.push({ scan: stored, outcome }),
    network: (reached) => void network.push(reached),
    barred: () => void barred++,
  };
  const wake = async () => {
    for (const { then } of waits.splice(0)) then();
    await settled();
  };
  return { outbox: new Outbox(around), calls, shelf, decided, waits, network, wake, barred: () => barred };
}

/** Lets everything happen that needs no outside event. */
const settled = () => new Promise<void>((done) => setImmediate(done));

test("a scan is stored before it is sent", async () => {
  const { outbox, calls, shelf } = world();
  outbox.send("t", scan);
  await settled();
  assert.equal(calls.length, 1);
  assert.equal(shelf.size, 1);
});

test("an unanswered scan is sent again under its key until the server decides", async () => {
  const { outbox, calls, decided, wake } = world();
  outbox.send("t", scan);
  await settled();
  for (const error of [new Unreachable("network"), new Unreachable("timeout"), new Unreachable("not_ours"), new Unreachable("unavailable"), problem(500), problem(429)]) {
    await calls.at(-1)?.fail(error);
    assert.equal(decided.length, 0);
    await wake();
  }
  await calls.at(-1)?.answer(answer("admit"));
  assert.equal(decided.length, 1);
  assert.deepEqual(new Set(calls.map((call) => call.key)), new Set(["key 1"]));
  assert.equal(calls.length, 7);
});

test("the same ticket presented again while unanswered keeps its key and brings its fresher code", async () => {
  const { outbox, calls, wake } = world();
  outbox.send("t", scan);
  await settled();
  outbox.send("t", { ...scan, code: "code 2" });
  await settled();
  assert.equal(calls.length, 1, "the first try is still out");
  await calls[0]?.fail(new Unreachable("timeout"));
  await wake();
  assert.deepEqual([calls[1]?.key, calls[1]?.scan.code], ["key 1", "code 2"]);
});

test("an admission of the older code answers for the fresher one, a refusal does not", async () => {
  const first = world();
  first.outbox.send("t", scan);
  await settled();
  first.outbox.send("t", { ...scan, code: "code 2" });
  await first.calls[0]?.answer(answer("admit"));
  assert.equal(first.decided.length, 1);

  const second = world();
  second.outbox.send("t", scan);
  await settled();
  second.outbox.send("t", { ...scan, code: "code 2" });
  await second.calls[0]?.answer(answer("retry"));
  assert.equal(second.decided.length, 0);
  assert.equal(second.calls[1]?.scan.code, "code 2");
});

test("one scan that hangs does not hold up the next", async () => {
  const { outbox, calls, decided } = world();
  outbox.send("t", scan);
  outbox.send("u", scan);
  await settled();
  await calls[1]?.answer(answer("admit"));
  assert.deepEqual(decided.map(({ scan: { ticket } }) => ticket), ["u"]);
});

test("a button sends the same scan again under the same key", async () => {
  const { outbox, calls, decided } = world();
  outbox.send("t", scan);
  await settled();
  await calls[0]?.answer(answer("retry"));
  const [first] = decided;
  assert.ok(first);
  await outbox.seen(first.scan.key);
  outbox.amend(first.scan, { people: 2 });
  await settled();
  assert.deepEqual([calls[1]?.key, calls[1]?.scan.people], ["key 1", 2]);
  assert.ok(!("outcome" in (calls[1]?.scan ?? {})) && !("ticket" in (calls[1]?.scan ?? {})), "only what the server takes is sent");
});

test("a decided scan is kept until somebody saw its answer", async () => {
  const { outbox, calls, shelf } = world();
  outbox.send("t", scan);
  await settled();
  await calls[0]?.answer(answer("refuse"));
  assert.equal([...shelf.values()][0]?.outcome?.kind, "answer");
  await outbox.seen("key 1");
  assert.equal(shelf.size, 0);
});

test("an unanswered scan cannot be thrown away by looking at it", async () => {
  const { outbox, shelf } = world();
  outbox.send("t", scan);
  await settled();
  await outbox.seen("key 1");
  assert.equal(shelf.size, 1);
});

test("what an earlier page left unanswered is sent under its old key", async () => {
  const { outbox, calls, shelf } = world();
  shelf.set("old", { ...scan, key: "old", ticket: "t" });
  outbox.resume([...shelf.values()]);
  await settled();
  assert.equal(calls[0]?.key, "old");
});

test("a request that can never succeed ends with its problem", async () => {
  const { outbox, calls, decided, waits } = world();
  outbox.send("t", scan);
  await settled();
  await calls[0]?.fail(problem(409, "scan.key_conflict"));
  assert.deepEqual(decided[0]?.outcome, { kind: "problem", code: "scan.key_conflict", detail: "" });
  assert.equal(waits.length, 0);
});

test("a device that is not let in keeps its scans and says so", async () => {
  const { outbox, calls, shelf, decided, barred } = world();
  outbox.send("t", scan);
  await settled();
  await calls[0]?.fail(problem(401));
  assert.deepEqual([decided.length, barred(), shelf.size], [0, 1, 1]);
});

test("the network's return ends all waiting", async () => {
  const { outbox, calls, waits } = world();
  outbox.send("t", scan);
  await settled();
  await calls[0]?.fail(new Unreachable("network"));
  outbox.hurry();
  await settled();
  assert.equal(calls.length, 2);
  assert.equal(waits.length, 0);
});

test("a stopped outbox sends nothing more but keeps what comes in", async () => {
  const { outbox, calls, shelf, decided } = world();
  outbox.send("t", scan);
  await settled();
  outbox.stop();
  await calls[0]?.answer(answer("admit"));
  assert.equal(decided.length, 0);
  assert.equal([...shelf.values()][0]?.outcome?.kind, "answer");
});

test("waits double up to a quarter of a minute and never all fall together", () => {
  assert.deepEqual([1, 2, 3].map((tries) => backOff(tries, 0.5)), [500, 1000, 2000]);
  assert.equal(backOff(50, 0.5), 15_000);
  assert.ok(backOff(3, 0) < backOff(3, 0.99));
});

test("a look-up whose answer is lost, and then the number of people, keep its key and its reason", async () => {
  const { outbox, calls, wake } = world();
  const look_up = { reason: "I know the guest", ticket: "t" };
  const asked = outbox.send("t", { ...scan, code: "", look_up });
  await settled();
  await calls[0]?.fail(new Unreachable("timeout"));
  await wake();
  await calls[1]?.answer(answer("retry"));
  outbox.amend(asked, { people: 2 });
  await settled();
  assert.deepEqual(calls.map(({ key, scan: sent }) => [key, sent.look_up, sent.people]), [["key 1", look_up, undefined], ["key 1", look_up, undefined], ["key 1", look_up, 2]]);
});
