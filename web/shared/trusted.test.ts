import { test } from "node:test";
import assert from "node:assert/strict";
import { allowOnly } from "./trusted.js";

test("only a worker address of this build may become a script", () => {
  const known = ["/assets/decoder-ABC.js", "/gate-sw.js"];
  assert.equal(allowOnly(known, "/gate-sw.js"), "/gate-sw.js");
  for (const foreign of ["", "/assets/decoder-ABC.js?x", "https://evil.example/gate-sw.js", "data:text/javascript,0"]) {
    assert.throws(() => allowOnly(known, foreign), TypeError, foreign);
  }
});
