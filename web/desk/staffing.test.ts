import { test } from "node:test";
import assert from "node:assert/strict";
import type { Grant } from "./answers.js";
import { grantsOf, valuesOf } from "./staffing.js";

test("roles survive the form that changes them", () => {
  const roles: readonly Grant[] = [
    { role: "admin" },
    { venue: "v1", role: "controller" },
    { venue: "v2", role: "controller", can_override: true },
    { venue: "v3", role: "supervisor" },
  ];
  assert.deepEqual(grantsOf(valuesOf(roles)), roles);
});

test("a venue without a choice gives no role, and other fields are none", () => {
  assert.deepEqual(grantsOf({ name: "Eva", "role.all": "", "role.v1": "", "role.v2": "admin" }), [{ venue: "v2", role: "admin" }]);
});

test("a role that only a controller has is taken from one who becomes more", () => {
  const [grant] = grantsOf({ ...valuesOf([{ venue: "v1", role: "controller", can_override: true }]), "role.v1": "supervisor" });
  assert.deepEqual(grant, { venue: "v1", role: "supervisor" });
});
