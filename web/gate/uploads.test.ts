import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import { Uploads, type BatchScan, type BatchVerdict, type Upload } from "./uploads.js";

const upload = (n: number, verdict: "admitted" | "refused" = "admitted", key = `k${n}`): Upload => ({
  id: `${key} ${verdict}`,
  device: "d",
  tries: 0,
  scan: { key, gate: "g", event: "e", code: `code ${n}`, direction: "in", people: 1, verdict, reason: "admitted", scanned_at: "2026-12-07T19:41:00Z", phone_offline: false, person: "p", pack: "7" },
});
const many = (n: number) => Array.from({ length: n }, (_, i) => upload(i));
const settled = () => new Promise<void>((done) => setImmediate(done));

type Judge = (scan: BatchScan, n: number) => BatchVerdict["verdict"];

/** A server that judges as the test says, and waits that end when the test says so. */
function world(judge: Judge, broken: (scans: readonly BatchScan[]) => Error | undefined = () => undefined) {
  const calls: (readonly BatchScan[])[] = [];
  const ended: { id: string; verdict: string }[] = [];
  const waits: { milliseconds: number; then: () => void }[] = [];
  let now = 0;
  const uploads = new Uploads({
    send: async (scans) => {
      calls.push(scans);
      const error = broken(scans);
      if (error !== undefined) throw error;
      return { received_at: "", verdicts: scans.map((scan, n) => ({ key: scan.key, verdict: judge(scan, n), replayed: false })) };
    },
    settled: async (over) => void ended.push(...over.map(({ upload: { id }, verdict: { verdict } }) => ({ id, verdict }))),
    wait: (milliseconds, then) => {
      const entry = { milliseconds, then };
      waits.push(entry);
      return () => void (waits.includes(entry) && waits.splice(waits.indexOf(entry), 1));
    },
    now: () => now,
    changed: () => undefined,
  });
  /** Lets the time pass until the next wait ends. */
  const pass = async () => {
    const [next] = waits.splice(0);
    now += next?.milliseconds ?? 0;
    next?.then();
    for (let i = 0; i < 30; i++) await settled();
    return next?.milliseconds;
  };
  const resume = async (all: readonly Upload[]) => {
    uploads.resume(all);
    for (let i = 0; i < 30; i++) await settled();
  };
  return { uploads, calls, ended, pass, resume };
}

test("a queue goes in batches of two hundred and is empty when each scan has its verdict", async () => {
  const verdicts = ["recorded", "double_admission", "quarantined", "refused"] as const;
  const { uploads, calls, ended, resume } = world((_, n) => verdicts[n % 4] ?? "recorded");
  await resume(many(500));
  assert.deepEqual(calls.map((scans) => scans.length), [200, 200, 100]);
  assert.equal(uploads.unsent, 0);
  assert.equal(ended.length, 500);
  assert.deepEqual(uploads.tally, { recorded: 125, double_admission: 125, quarantined: 125, refused: 125 });
});

test("a scan that the server cannot judge now waits alone, longer each time, and those behind it are not held up", async () => {
  let tries = 0;
  const { uploads, ended, pass, resume } = world(({ key }) => (key === "k3" && ++tries < 5 ? "retry" : "recorded"));
  await resume(many(10));
  assert.equal(uploads.unsent, 1);
  assert.equal(ended.length, 9);
  const pauses: number[] = [];
  while (uploads.unsent > 0) pauses.push((await pass()) ?? 0);
  assert.equal(tries, 5);
  assert.ok(pauses.every((pause, i) => pause > (pauses[i - 1] ?? 0)), pauses.join());
});

test("a scan that always fails stays, and is tried hourly", async () => {
  const { uploads, pass, resume } = world(() => "retry");
  await resume(many(1));
  for (let i = 0; i < 8; i++) await pass();
  assert.equal(await pass(), 3_600_000);
  assert.equal(uploads.unsent, 1);
});

test("where the server chokes on a batch, the scan that it chokes on is found and the others arrive", async () => {
  const { uploads, calls, ended, resume } = world(
    () => "recorded",
    (scans) => (scans.some(({ key }) => key === "k3") ? new Problem({ status: 500, retryAfter: 0 }, { code: "internal" }) : undefined),
  );
  await resume(many(10));
  assert.equal(ended.length, 9);
  assert.equal(uploads.unsent, 1);
  assert.ok(calls.length < 20, `${calls.length} calls`);
});

test("without network nothing is lost and nothing hammers", async () => {
  let network = false;
  const { uploads, calls, pass, resume } = world(() => "recorded", () => (network ? undefined : new Unreachable("network")));
  await resume(many(3));
  for (let i = 0; i < 5; i++) await pass();
  assert.equal(uploads.unsent, 3);
  assert.equal(calls.length, 6);
  network = true;
  uploads.hurry();
  await settled();
  await settled();
  assert.equal(uploads.unsent, 0);
});

test("a server that fails at everything is left in peace after a few calls", async () => {
  const { calls, pass, resume, uploads } = world(() => "recorded", () => new Problem({ status: 500, retryAfter: 0 }, { code: "internal" }));
  await resume(many(200));
  const first = calls.length;
  assert.ok(first < 15, `${first} calls at once`);
  assert.ok((await pass() ?? 0) >= 300);
  assert.ok(calls.length - first < 5);
  assert.equal(uploads.unsent, 200);
});

test("an answer that does not fit the scans is no verdict", async () => {
  const { uploads } = world(() => "recorded");
  const mixed = new Uploads({
    send: async (scans) => ({ received_at: "", verdicts: scans.map(({ key }) => ({ key, verdict: "recorded" as const, replayed: false })).reverse() }),
    settled: async () => assert.fail("nothing was settled"),
    wait: () => () => undefined,
    now: () => 0,
    changed: () => undefined,
  });
  mixed.resume(many(2));
  await settled();
  assert.equal(mixed.unsent, 2);
  uploads.stop();
});

test("one key may have been refused and then let in: both are told, in whatever order", async () => {
  for (const order of [["refused", "admitted"], ["admitted", "refused"]] as const) {
    const { calls, ended, resume } = world(() => "recorded");
    await resume(order.map((verdict) => upload(1, verdict, "k")));
    assert.deepEqual(calls[0]?.map(({ key, verdict }) => [key, verdict]), order.map((verdict) => ["k", verdict]));
    assert.equal(ended.length, 2);
  }
});
