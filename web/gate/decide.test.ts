// The decision without network, measured by the cases that the server's rule has
// judged (server/ticket/without_network_test.go).

import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { decide, type Passage } from "./decide.js";
import type { PackCategory, PackEvent, PackTicket } from "./pack.js";

interface Case {
  readonly signs: "nonce" | "time" | "paper";
  readonly nonce_age?: number;
  readonly issued_at?: number;
  readonly generation?: number;
  readonly forged?: boolean;
  readonly proof_used?: boolean;
  readonly missing?: boolean;
  readonly claim: "none" | "phone" | "paper";
  readonly current: number;
  readonly status: "active" | "used" | "held" | "revoked";
  readonly admits: number;
  readonly extra?: number;
  readonly entries?: number;
  readonly inside?: number;
  readonly used_ago?: number;
  readonly same_key?: Passage;
  readonly doors?: number;
  readonly ends?: number;
  readonly valid_from?: number;
  readonly valid_until?: number;
  readonly gates: "all" | "this" | "other";
  readonly paper?: boolean;
  readonly freshness: PackEvent["freshness"];
  readonly rescan: PackEvent["rescan"];
  readonly window: number;
  readonly reentry?: boolean;
  readonly offline: PackEvent["offline"];
  readonly direction: "in" | "out";
  readonly people?: number;
  readonly phone_offline?: boolean;
  readonly want: { reason: string; verdict: string; class: string; replayed?: boolean; people?: number; remaining?: number };
}

const now = Date.parse("2026-03-29T19:40:00Z");
const after = (seconds: number) => now + seconds * 1000;

function ticketOf(one: Case): PackTicket {
  const { claim, current: generation, status, admits, extra = 0, entries = 0, inside = 0 } = one;
  const key = { none: null, phone: "key", paper: "" }[claim];
  const letter = ({ active: "a", used: "u", held: "h", revoked: "r" } as const)[status];
  return { generation, key, event: 0, category: 0, status: letter, admits, extra, entries, inside, number: 1, seat: "" };
}

function judged(one: Case) {
  const category: PackCategory = {
    id: "c",
    name: "",
    gates: { all: [], this: ["b", "a"], other: ["b"] }[one.gates],
    paper: one.paper ?? false,
    valid_from: one.valid_from === undefined ? null : after(one.valid_from),
    valid_until: one.valid_until === undefined ? null : after(one.valid_until),
  };
  const { freshness, rescan, reentry = false, offline } = one;
  const hours = { doors_open_at: after(one.doors ?? 0), starts_at: after(600), ends_at: after(one.ends ?? 0) };
  const event: PackEvent = { id: "e", name: "", screen: "", ...hours, freshness, rescan, reentry, offline, rescan_window: one.window * 1000, categories: [category] };
  const { signs, generation = 0, direction, people = 0, phone_offline = false } = one;
  const { reason, verdict, class: cls, replayed, ...counts } = decide(
    { signs, generation, direction, people, phone_offline },
    {
      now,
      gate: "a",
      ticket: one.missing === true ? undefined : ticketOf(one),
      event,
      category,
      signature_good: one.forged !== true,
      nonce_at: one.nonce_age === undefined ? undefined : after(-one.nonce_age),
      issued_at: after(one.issued_at ?? 0),
      proof_used: one.proof_used ?? false,
      same_key: one.same_key,
      used_at: one.used_ago === undefined ? undefined : after(-one.used_ago),
    },
  );
  return { reason, verdict, class: cls, replayed, people: counts.people, remaining: counts.remaining };
}

test("five thousand cases have the answers of the server's rule", () => {
  const lines = gunzipSync(readFileSync("../server/ticket/testdata/without_network.jsonl.gz")).toString().trimEnd().split("\n");
  const count = new Map<string, number>();
  for (const line of lines) {
    const one = JSON.parse(line) as Case;
    assert.deepEqual(judged(one), { replayed: false, people: 0, remaining: 0, ...one.want }, line);
    count.set(one.want.reason, (count.get(one.want.reason) ?? 0) + 1);
  }
  assert.equal(lines.length, 5_000);
  assert.equal(count.size, 22);
  for (const [reason, times] of count) assert.ok(times >= 100, `${reason} occurs ${times} times`);
});
