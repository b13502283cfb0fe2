import { test } from "node:test";
import assert from "node:assert/strict";
import type { Act, Admission } from "./answers.js";
import { deeds, life } from "./life.js";

const act = (at: string, name: string): Act => ({ at, act: name, actor: "person", details: null });
const admission = (at: string): Admission => ({ at, gate_name: "Main", person_name: "Karel", people: 1, direction: "in", kind: "pushed", path: "ordinary" });

test("acts and passages are one row of moments, whatever the fraction of a second looks like", () => {
  const moments = life({
    history: [act("2026-11-30T18:00:00Z", "ticket.issue"), act("2026-11-30T19:30:00.5Z", "scan.undo")],
    admissions: [admission("2026-11-30T19:30:00.123456Z"), admission("2026-11-30T19:31:00Z")],
  });
  assert.deepEqual(
    moments.map((moment) => (moment.kind === "act" ? moment.act.act : "passage")),
    ["ticket.issue", "passage", "scan.undo", "passage"],
  );
});

test("what is offered follows the ticket's state, paper only where its category has it, and mail only to an address", () => {
  const holder = { name: "Anna", email: "anna@example.org" };
  assert.ok(deeds({ status: "active", holder }, true).includes("print"));
  assert.ok(!deeds({ status: "active", holder }, false).includes("print"));
  assert.deepEqual(deeds({ status: "revoked", holder }, true), ["reinstate"]);
  assert.ok(deeds({ status: "held", holder }, true).includes("release"));
  assert.ok(!deeds({ status: "used", holder }, true).includes("hold"));
  assert.ok(deeds({ status: "active", holder }, true).includes("resend"));
  assert.ok(!deeds({ status: "active", holder: { ...holder, email: "" } }, true).includes("resend"));
});
