import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import type { Hold } from "./answers.js";
import { Lease, type LeaseState } from "./lease.js";

const held = (lease?: string): Hold => ({ accepted_for: 35, server_time: "", ...(lease !== undefined && { lease }) });
const ended = new Problem({ status: 410, retryAfter: 0 }, { code: "nonce.lease_ended" });
const closed = new Problem({ status: 409, retryAfter: 0 }, { code: "nonce.gate_closed" });

/** A server that answers at once, from a list; what was called is written down. */
function world(...answers: (Hold | Error)[]) {
  const log: string[] = [];
  const states: LeaseState[] = [];
  const waits: { milliseconds: number; then: () => void }[] = [];
  let now = 0;
  let barred = 0;
  const next = async (called: string): Promise<Hold> => {
    log.push(called);
    const answer = answers.shift() ?? held();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const lease = new Lease({
    hold: () => next("hold"),
    renew: (id) => next(`renew ${id}`),
    close: async (id) => void log.push(`close ${id}`),
    release: (id) => void log.push(`release ${id}`),
    wait: (milliseconds, then) => {
      const entry = { milliseconds, then };
      waits.push(entry);
      return () => void (waits.includes(entry) && waits.splice(waits.indexOf(entry), 1));
    },
    now: () => now,
    changed: (state) => void states.push(state),
    network: () => undefined,
    barred: () => void barred++,
  });
  const pass = async (milliseconds: number) => {
    now += milliseconds;
    for (const { then } of waits.splice(0)) then();
    await settled();
  };
  return { lease, log, states, waits, pass, barred: () => barred };
}

const settled = () => new Promise<void>((done) => setImmediate(done));

test("a visible gate holds its lease and renews it every five seconds", async () => {
  const { lease, log, waits, pass } = world(held("a"));
  await lease.show();
  assert.equal(waits[0]?.milliseconds, 5_000);
  await pass(5_000);
  assert.deepEqual(log, ["hold", "renew a"]);
  assert.equal(lease.state, "held");
});

test("a hidden gate gives its lease back at once, and only once", async () => {
  const { lease, log, waits } = world(held("a"));
  await lease.show();
  lease.hide();
  lease.hide();
  assert.deepEqual(log, ["hold", "release a"]);
  assert.equal(waits.length, 0);
});

test("a gate that comes back renews first and holds anew when the lease has ended", async () => {
  const { lease, log } = world(held("a"), ended, held("b"));
  await lease.show();
  lease.hide();
  await lease.show();
  assert.deepEqual(log, ["hold", "release a", "renew a", "hold"]);
  assert.equal(lease.state, "held");
});

test("a gate that a colleague closed meanwhile stays closed until its button is pressed", async () => {
  const { lease, log, waits } = world(held("a"), closed, held("b"));
  await lease.show();
  lease.hide();
  await lease.show();
  assert.equal(lease.state, "closed");
  assert.equal(waits.length, 0);
  lease.hide();
  await lease.show();
  assert.equal(lease.state, "closed");
  await lease.open();
  assert.equal(lease.state, "held");
  assert.deepEqual(log, ["hold", "release a", "renew a", "hold"]);
});

test("a lease that arrives after the page was hidden is given back", async () => {
  const { lease, log } = world(held("a"));
  const showing = lease.show();
  lease.hide();
  await showing;
  assert.deepEqual(log, ["hold", "release a"]);
  assert.equal(lease.state, "none");
});

test("a lease counts as lost only when the server was silent for as long as it lives", async () => {
  const silence = () => new Unreachable("network");
  const { lease, pass } = world(held("a"), silence(), silence(), silence());
  await lease.show();
  await pass(5_000);
  assert.equal(lease.state, "held");
  await pass(5_000);
  assert.equal(lease.state, "held");
  await pass(5_000);
  assert.equal(lease.state, "lost");
  await pass(2_000);
  assert.equal(lease.state, "held");
});

test("the closing of a gate is the server's act, not the page's wish", async () => {
  const { lease, log, waits } = world(held("a"));
  await lease.show();
  await lease.close();
  assert.deepEqual(log, ["hold", "close a"]);
  assert.equal(lease.state, "closed");
  assert.equal(waits.length, 0);
});

test("a person without the right loses the lease and hears why", async () => {
  const { lease, barred } = world(new Problem({ status: 403, retryAfter: 0 }, { code: "session.right_missing" }));
  await lease.show();
  assert.equal(lease.state, "lost");
  assert.equal(barred(), 1);
});
