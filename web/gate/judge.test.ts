import { test } from "node:test";
import assert from "node:assert/strict";
import { printPacked } from "../proof/code.js";
import { choose, judge, judgeTyped } from "./judge.js";

const ticket = "11111111-2222-4333-8444-555555555555";
const code = (nonce: number) => printPacked({ kind: "nonce", ticket, generation: 1, nonce: new Uint8Array(16).fill(nonce), signature: new Uint8Array(64) });

test("two codes of one ticket are one presentation", () => {
  assert.equal(judge(code(1)).id, ticket);
  assert.equal(judge(code(2)).id, ticket);
});

test("whatever is no ticket is named here and not taken for one", () => {
  const texts = ["", "\n", "x", "https://example.org/w#abc", "https://example.org/gate#p.abc", "WIFI:S:x;;", "4006381333931", "a".repeat(65_536)];
  for (const text of texts) assert.equal(judge(text).kind, "foreign", JSON.stringify(text.slice(0, 20)));
});

test("of several codes in one picture the ticket is taken", () => {
  assert.equal(choose(["https://example.org", code(1)])?.kind, "ticket");
  assert.equal(choose([]), undefined);
});

test("case and space around are forgiven in typed codes only", () => {
  const typed = `  ${code(1).toLowerCase()} \n`;
  assert.equal(judge(typed).kind, "foreign");
  assert.equal(judgeTyped(typed).kind, "ticket");
});

test("six typed digits are a short code, with or without a space, and only when typed", () => {
  assert.deepEqual(judgeTyped(" 482 913 "), { kind: "ticket", id: "short 482913", code: "482913" });
  assert.equal(judgeTyped("48291").kind, "foreign");
  assert.equal(judge("482913").kind, "foreign");
});

test("a typed number with eight digits is a one-time code, unless it is a product's", () => {
  const want = { kind: "ticket", id: "one-time 17 12345678", code: "17 12345678" };
  for (const typed of ["17 12345678", " 17 1234 5678 ", "1712345678"]) assert.deepEqual(judgeTyped(typed), want);
  assert.equal(judgeTyped("4006381333931").kind, "foreign");
  assert.deepEqual(judgeTyped("40063 81333931"), { kind: "ticket", id: "one-time 40063 81333931", code: "40063 81333931" });
  assert.equal(judgeTyped("12345678").kind, "foreign");
  assert.equal(judge("17 12345678").kind, "foreign");
});
