import { test } from "node:test";
import assert from "node:assert/strict";
import cs from "../locales/cs.json" with { type: "json" };
import en from "../locales/en.json" with { type: "json" };
import fr from "../locales/fr.json" with { type: "json" };
import { Messages, type Catalogue } from "../shared/messages.js";
import type { Answer, Ticket } from "./answers.js";
import { buttons, Phrases } from "./phrases.js";
import { samples } from "./samples.js";

const zone = "Europe/Prague";
const english = new Phrases(new Messages("en", en as unknown as Catalogue), zone);
const french = new Phrases(new Messages("fr", fr as unknown as Catalogue), zone);
const czech = new Phrases(new Messages("cs", cs as unknown as Catalogue), zone);

const ticket: Ticket = {
  ticket: "t",
  number: 1480,
  category: "Standard",
  seat: "F12",
  event_name: "Playtime",
  screen: "Screen 3",
  doors_open_at: "2026-11-30T19:00:00Z",
  starts_at: "2026-11-30T19:30:00Z",
  venue_name: "Aurora",
  time_zone: zone,
};
const answer = (more: Partial<Answer>): Answer => ({
  verdict: "refuse",
  class: "ask",
  reason: "already_used",
  replayed: false,
  title: "",
  advice: "",
  actions: [],
  ticket,
  server_time: "2026-11-30T19:20:00Z",
  ...more,
});
const use = { at: "", seconds_ago: 130, gate_name: "B", person: "Karel", same_device: true, same_claim: true, same_nonce: false };

/** Intl puts a narrow no-break space here and there. */
const plain = (text: string | undefined) => text?.replaceAll(/\s/g, " ");

test("a first use is told by how long ago, where, by whom, and whether it was the same phone", () => {
  const view = english.view({ kind: "answer", answer: answer({ first_use: use }) });
  assert.equal(plain(view.lines[0]), "Used 2 min ago · B · Karel · same phone, fresh code");
});

test("the age of a first use is the server's, in the reader's language", () => {
  assert.equal(plain(french.ago(130)), "il y a 2 min");
  assert.equal(plain(czech.ago(130)), "před 2 min");
  assert.equal(plain(english.ago(0)), "1 sec ago");
  assert.equal(plain(english.ago(7300)), "2 hr ago");
});

test("another gate's use of the same phone with another code warns of a photograph", () => {
  const there = english.view({ kind: "answer", answer: answer({ first_use: { ...use, same_device: false } }) });
  assert.ok(there.lines.some((line) => line.includes("photographed")));
  const here = english.view({ kind: "answer", answer: answer({ first_use: use }) });
  assert.ok(!here.lines.some((line) => line.includes("photographed")));
});

test("half past midnight cannot be taken for half past noon in any language", () => {
  const [night, noon] = ["2026-11-30T23:30:00Z", "2026-11-30T11:30:00Z"];
  for (const phrases of [english, french, czech]) {
    assert.notEqual(phrases.time(night, zone, night), phrases.time(noon, zone, noon));
  }
  assert.equal(plain(english.time(night, zone, night)), "12:30 AM");
  assert.equal(plain(czech.time(night, zone, night)), "0:30");
});

test("the zone is said where the device lives in another one, and the day where it is another", () => {
  const abroad = new Phrases(new Messages("en", en as unknown as Catalogue), "America/New_York");
  assert.match(abroad.time(ticket.starts_at, zone, ticket.starts_at), /GMT\+1|CET/);
  assert.doesNotMatch(english.time(ticket.starts_at, zone, ticket.starts_at), /GMT|CET/);
  assert.match(english.time("2026-12-02T19:30:00Z", zone, ticket.starts_at), /Dec/);
});

test("a wrong event is told with its place and its time", () => {
  const view = english.view({ kind: "answer", answer: answer({ reason: "wrong_event" }) });
  assert.equal(view.lines[0], "Playtime · Aurora");
  assert.equal(plain(view.lines[1]), "Doors 8:00 PM, start 8:30 PM");
  assert.deepEqual(view.place, ["Screen 3", "F12"]);
});

test("a ticket's number is not grouped like an amount", () => {
  assert.equal(english.view({ kind: "answer", answer: answer({}) }).facts[1], "No. 1480");
});

test("a group's buttons are everybody and then each smaller number", () => {
  const ask = answer({ reason: "choose_people", remaining: 4 });
  assert.deepEqual(
    buttons(ask).map((button) => (button.kind === "people" ? [button.people, button.all] : [])),
    [[4, true], [1, false], [2, false], [3, false]],
  );
  assert.equal(buttons(answer({ reason: "choose_people", remaining: 1 })).length, 1);
});

test("a lately moved ticket is admitted with a strip that says so", () => {
  const view = english.view({ kind: "answer", answer: answer({ class: "admit", reason: "admitted", moved_at: "2026-11-30T19:08:00Z" }) });
  assert.equal(plain(view.attention), "Moved 12 min ago");
});

test("an admission that takes the place of a lost answer says so, and shows no refusal's lines", () => {
  const use = { at: "2026-11-30T19:19:00Z", seconds_ago: 60, gate: "g", gate_name: "Gate B", person: "Karel", same_device: false, same_claim: true, same_nonce: false };
  const view = english.view({ kind: "answer", answer: answer({ class: "admit", reason: "admitted", first_use: use }) });
  assert.equal(plain(view.attention), "“Gate B” let this phone in 1 min ago, but its answer was never seen");
  assert.equal(view.lines.some((line) => line.includes("Karel")), false);
});

test("a reason of a newer server is told in the server's words", () => {
  const view = english.view({ kind: "answer", answer: answer({ reason: "from_the_future", title: "Later", advice: "Wait." }) });
  assert.deepEqual([view.title, view.advice], ["Later", "Wait."]);
});

test("a claim link is called one and never sent as a ticket", () => {
  const view = english.view({ kind: "foreign", reason: "not_a_ticket", what: "claim_link" });
  assert.match(view.lines[0] ?? "", /link that puts a ticket on a phone/);
});

test("a wrong PIN says how many tries are left, an unknown problem says what the server said", () => {
  assert.equal(english.trouble({ code: "sign_on.wrong_pin", tries_left: 1 }), "That PIN is wrong. 1 try is left.");
  assert.equal(english.trouble({ code: "strange.thing", detail: "Strange." }), "Strange.");
});

test("no sample answer leaves a placeholder or a key unsaid in any language", () => {
  for (const phrases of [english, french, czech]) {
    for (const [name, { state }] of Object.entries(samples)) {
      if (state.kind !== "working" || state.screen.over.kind !== "answer") continue;
      const view = phrases.view(state.screen.over.shown);
      const words = [view.title, view.advice, view.attention ?? "", ...view.lines, ...view.facts].join(" ");
      assert.doesNotMatch(words, /\{\{|gate\.|undefined|NaN/, name);
    }
  }
});
