import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem } from "../shared/api.js";
import type { Found, FoundTicket } from "./answers.js";
import { enough, Searching, type Search } from "./search.js";

const guest = (ticket: string): FoundTicket => ({
  ticket,
  number: 1,
  category: "",
  seat: "",
  status: "active",
  claim: "none",
  admits: 1,
  remaining: 1,
  event_name: "",
  screen: "",
  doors_open_at: "",
  starts_at: "",
  time_zone: "UTC",
  actions: ["admit"],
});
const found = (...tickets: string[]): Found => ({ items: tickets.map(guest), more: false, server_time: "" });

/** A search whose answers come when the test says so. */
function world() {
  const asked: { q: string; answer: (found: Found) => void; fail: (error: unknown) => void }[] = [];
  const shown: Search[] = [];
  const searching = new Searching(
    (q) => new Promise((resolve, reject) => void asked.push({ q, answer: resolve, fail: reject })),
    (search) => void shown.push(search),
  );
  return { asked, shown, searching };
}

test("three letters or a number are enough, in any script", () => {
  for (const q of ["abc", " Ng Li ", "1", "148", "李小龙", "F-12"]) assert.ok(enough(q), q);
  for (const q of ["", "  ", "ab", "a b", "a-b", "é.", "F1"]) assert.ok(!enough(q), q);
});

test("too little is never asked, and what to type is said", async () => {
  const { asked, searching } = world();
  await searching.search("ma");
  assert.equal(asked.length, 0);
  assert.equal(searching.now.trouble?.code, "search.too_short");
});

test("one that is found alone is opened, of several one is chosen", async () => {
  const { asked, searching } = world();
  const opened = () => searching.now.chosen?.ticket;
  const one = searching.search("maria ");
  assert.equal(asked[0]?.q, "maria");
  asked[0]?.answer(found("t1"));
  await one;
  assert.equal(opened(), "t1");
  const two = searching.search("mar");
  assert.equal(opened(), undefined);
  asked[1]?.answer(found("t1", "t2"));
  await two;
  assert.equal(opened(), undefined);
  searching.asks(true);
  assert.equal(searching.now.asking, false, "nobody is let in who was not chosen");
  searching.choose("t2");
  assert.equal(opened(), "t2");
  assert.equal(searching.now.asking, false, "the first press has yet to come");
  searching.asks(true);
  searching.choose();
  assert.equal(searching.now.asking, false);
  assert.equal(searching.now.found?.items.length, 2);
});

test("an answer that comes after the next question, or after the panel was closed, is dropped", async () => {
  const { asked, shown, searching } = world();
  const first = searching.search("first");
  const second = searching.search("second");
  asked[1]?.answer(found("t2", "t3"));
  await second;
  asked[0]?.answer(found("t1"));
  await first;
  assert.deepEqual(searching.now.found?.items.map(({ ticket }) => ticket), ["t2", "t3"]);
  const third = searching.search("third");
  searching.clear();
  const before = shown.length;
  asked[2]?.fail(new Problem({ status: 429, retryAfter: 2 }, { code: "search.too_fast" }));
  await third;
  assert.equal(shown.length, before);
});

test("a refused search keeps its words and says why", async () => {
  const { asked, searching } = world();
  const one = searching.search("maria");
  asked[0]?.fail(new Problem({ status: 429, retryAfter: 2 }, { code: "search.too_fast" }));
  await one;
  assert.equal(searching.now.q, "maria");
  assert.equal(searching.now.trouble?.code, "search.too_fast");
});
