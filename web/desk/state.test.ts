import { test } from "node:test";
import assert from "node:assert/strict";
import { closed, everywhere, form, mayWork, newKey, opened, withForm, type State } from "./state.js";
import { refused } from "./submitting.js";
import { missing } from "./orders.js";

const state: State = { kind: "sign_in", forms: { sign_in: form({ email: "a@b.example" }) } };

test("a key is a random UUID of version 4", () => {
  assert.match(newKey(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(newKey(), newKey());
});

test("what was typed and the key survive a refusal, so that the next press is the same call", () => {
  const before = state.forms["sign_in"];
  const after = withForm(state, "sign_in", refused({ ...missing([]), code: "unreachable" })).forms["sign_in"];
  assert.equal(after?.key, before?.key);
  assert.equal(after?.values["email"], "a@b.example");
  assert.equal(after?.busy, false);
});

test("a key that the server knows with another content is given up", () => {
  const after = withForm(state, "sign_in", refused({ ...missing([]), code: "request.key_conflict" })).forms["sign_in"];
  assert.notEqual(after?.key, state.forms["sign_in"]?.key);
});

test("a form that opens again is empty and has another key", () => {
  const again = opened(state, "sign_in").forms["sign_in"];
  assert.deepEqual(again?.values, {});
  assert.notEqual(again?.key, state.forms["sign_in"]?.key);
});

test("an answer that comes after its form was closed opens nothing", () => {
  assert.deepEqual(withForm(closed(state, "sign_in"), "sign_in", { busy: false }).forms, {});
});

test("only an admin has work at the desk, and only one of everywhere adds venues", () => {
  const me = (grants: readonly { role: "admin" | "controller"; venue?: string }[]) => ({ name: "A", has_password: true, has_pin: false, has_second_factor: false, grants });
  assert.equal(mayWork(me([{ role: "controller" }])), false);
  assert.equal(mayWork(me([{ role: "admin", venue: "v" }])), true);
  assert.equal(everywhere(me([{ role: "admin", venue: "v" }])), false);
  assert.equal(everywhere(me([{ role: "admin" }])), true);
});
