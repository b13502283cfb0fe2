import { test } from "node:test";
import assert from "node:assert/strict";
import { Messages } from "../shared/messages.js";
import type { Catalogue } from "../shared/messages.js";
import english from "../locales/en.json";
import french from "../locales/fr.json";
import czech from "../locales/cs.json";
import { Phrases } from "./phrases.js";
import { form, type Trouble } from "./state.js";

const en = new Phrases(new Messages("en", english as unknown as Catalogue), "Europe/Prague");
const cs = new Phrases(new Messages("cs", czech as unknown as Catalogue), "Europe/Prague");
const trouble = (change: Partial<Trouble>): Trouble => ({ code: "", detail: "", status: 409, facts: {}, fields: [], retryAfter: 0, ...change });

test("a refusal says what to do next, with the number it names", () => {
  assert.equal(en.trouble(trouble({ code: "ticket.external_id_taken", facts: { number: 1234 } })), "Ticket No. 1234 has this foreign number already.");
  assert.match(en.trouble(trouble({ code: "ticket.not_active", facts: { status: "held" } })), /On hold/);
  assert.match(cs.trouble(trouble({ code: "session.too_many_tries", retryAfter: 3 })), /3 sekundy/);
});

test("a refusal that this page does not know is told in the server's words, and in ours when it has none", () => {
  assert.equal(en.trouble(trouble({ code: "future.code", detail: "do this" })), "do this");
  assert.equal(en.trouble(trouble({ code: "future.code" })), en.say("error.internal"));
});

test("a field's fault takes its own sentence before the common one", () => {
  const at = (name: string, code: string) => en.fault({ ...form(), trouble: trouble({ code: "request.fields", fields: [{ name, code }] }) }, name);
  assert.equal(at("count", "out_of_range"), "Between 1 and 1000.");
  assert.equal(at("name", "required"), "This is needed.");
  assert.equal(at("name", "from_the_future"), "from_the_future");
});

test("times are the venue's; the language decides about am and pm; a foreign zone is named once", () => {
  const at = "2026-11-30T18:30:00Z";
  assert.match(en.time(at, "Europe/Prague"), /^7:30\sPM$/);
  assert.equal(cs.time(at, "Europe/Prague"), "19:30");
  assert.match(en.time(at, "America/New_York"), /^1:30\sPM$/);
  assert.equal(en.foreign("Europe/Prague"), undefined);
  assert.match(en.foreign("America/New_York") ?? "", /America\/New_York/);
});

test("every word of the server that the desk shows has one of its own in every language", () => {
  const words = {
    "desk.status": ["active", "used", "held", "revoked"],
    "desk.claim": ["none", "phone", "paper"],
    "desk.kind": ["pushed", "shown", "short", "timed", "totp", "paper", "none"],
    "desk.path": ["override", "look_up", "recovery", "offline"],
    "desk.actor": ["person", "device", "token", "wallet", "system", "operator"],
    "desk.act": ["ticket.issue", "ticket.claim", "ticket.revoke", "ticket.reinstate", "ticket.hold", "ticket.release", "ticket.reissue", "ticket.link_shown", "ticket.print", "scan.undo"],
    "desk.deed": ["link", "reissue", "print", "hold", "release", "revoke", "reinstate"],
    "desk.deed_title": ["link", "reissue", "print", "hold", "release", "revoke", "reinstate"],
    "desk.deed_text": ["link", "reissue", "print", "hold", "release", "revoke", "reinstate"],
    "desk.deed_go": ["link", "reissue", "print", "hold", "release", "revoke", "reinstate"],
    "desk.freshness": ["live", "assisted", "open"],
    "desk.freshness_text": ["live", "assisted", "open"],
    "desk.freshness_short": ["live", "assisted", "open"],
    "desk.rescan": ["strict", "show_time", "recover"],
    "desk.rescan_text": ["strict", "show_time", "recover"],
    "desk.rescan_short": ["strict", "show_time", "recover"],
  };
  for (const catalogue of [english, french, czech] as unknown as Catalogue[]) {
    for (const [prefix, all] of Object.entries(words)) for (const word of all) assert.ok(`${prefix}.${word}` in catalogue, `${prefix}.${word}`);
  }
});

test("an undone entry says who took it back and why, and still where it was", () => {
  const line = en.line({
    kind: "admission",
    at: "2026-11-30T18:30:00Z",
    admission: {
      at: "2026-11-30T18:30:00Z",
      gate_name: "Balcony",
      person_name: "Karel",
      device_name: "Phone 2",
      people: 2,
      direction: "in",
      kind: "timed",
      path: "override",
      undone: { at: "2026-11-30T18:31:00Z", person_name: "Petra", reason: "wrong person" },
    },
  });
  assert.equal(line.title, "In at Balcony (2 people)");
  assert.equal(line.by, "Karel · Phone 2");
  assert.deepEqual(line.more, ["by the phone’s clock · by judgement", "Taken back by Petra: wrong person"]);
  assert.equal(line.undone, true);
});

test("an entry whose answer was lost says so, and that it was seen after all", () => {
  const entry = (shown_at?: string) =>
    en.line({
      kind: "admission",
      at: "2026-11-30T18:30:00Z",
      admission: {
        at: "2026-11-30T18:30:00Z",
        gate_name: "Balcony",
        person_name: "Karel",
        people: 1,
        direction: "in",
        kind: "pushed",
        path: "ordinary",
        undone: { at: "2026-11-30T18:31:00Z", reason: "its answer was never shown", superseded_by: "k" },
        ...(shown_at !== undefined && { shown_at }),
      },
    }).more.slice(1);
  assert.equal(entry().length, 1);
  assert.equal(entry("2026-11-30T18:40:00Z").length, 2);
});
