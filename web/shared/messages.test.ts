import { test } from "node:test";
import assert from "node:assert/strict";
import { Messages } from "./messages.js";

const czech = new Messages("cs", {
  "wallet.tickets": { one: "{{.count}} vstupenka", few: "{{.count}} vstupenky", many: "{{.count}} vstupenky", other: "{{.count}} vstupenek" },
  "gate.at": "{{.gate}} v {{.time}}",
});

test("Czech plural forms follow the count", () => {
  assert.equal(czech.look("wallet.tickets", { count: 1 }), "1 vstupenka");
  assert.equal(czech.look("wallet.tickets", { count: 3 }), "3 vstupenky");
  assert.equal(czech.look("wallet.tickets", { count: 5 }), "5 vstupenek");
});

test("placeholders are filled by name and never evaluated as anything else", () => {
  assert.equal(czech.look("gate.at", { gate: "$& {{.time}}", time: "19:30" }), "$& {{.time}} v 19:30");
});

test("a placeholder without a value stays visible instead of becoming 'undefined'", () => {
  assert.equal(czech.look("gate.at", { gate: "B" }), "B v {{.time}}");
});

test("an unknown key from the server is told apart, an unknown key of ours is shown as itself", () => {
  assert.equal(czech.look("reason.from_the_future"), undefined);
  assert.equal(czech.say("reason.admitted"), "reason.admitted");
});
