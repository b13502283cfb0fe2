import { test } from "node:test";
import assert from "node:assert/strict";
import { format, parse, secretOf, type Route } from "./route.js";

const id = "0b8f1f0e-4a53-4f0c-9a57-0d6f6a1f2c3d";

test("every address leads back to its own view", () => {
  const routes: readonly Route[] = [
    { kind: "events", past: false },
    { kind: "events", past: true },
    { kind: "new_event" },
    { kind: "event", id },
    { kind: "issue", id },
    { kind: "report", id },
    { kind: "mails", id },
    { kind: "ticket", id },
    { kind: "venues" },
    { kind: "gates" },
    { kind: "devices" },
    { kind: "people" },
    { kind: "person", id },
    { kind: "tokens" },
    { kind: "account" },
  ];
  for (const route of routes) assert.deepEqual(parse(format(route)), route);
});

test("an address that is none of ours leads to the events and never into a call", () => {
  for (const fragment of ["", "#", "#/nowhere", "#/event/../venues", `#/ticket/${id}/revoke`, `#/event/${id}/nothing`, "#/event/x?y", `#/ticket/${id.toUpperCase()}`]) {
    assert.deepEqual(parse(fragment), { kind: "events", past: false }, fragment);
  }
});

test("only a one-time link has a secret", () => {
  assert.equal(secretOf("#s.ZVm8TIiyVfblYFByt2KuQc3Eij-_DWDKK2YBt28jbUw"), "ZVm8TIiyVfblYFByt2KuQc3Eij-_DWDKK2YBt28jbUw");
  for (const fragment of ["", "#/", "#p.abc", "#s.", "#s.a b", "#s.a/b"]) assert.equal(secretOf(fragment), undefined, fragment);
});
