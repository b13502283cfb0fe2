import { test } from "node:test";
import assert from "node:assert/strict";
import { calendar } from "./calendar.js";

const entry = {
  uid: "e1@tickets.example",
  title: "Vstupenka; „Příliš žluťoučký kůň, úpěl ďábelské ódy“ – představení pro celou rodinu a přátele",
  text: "One\nTwo \\ three",
  place: "Kino Aurora",
  begins: "2026-11-30T18:30:00.500Z",
  ends: "2026-11-30T18:45:00Z",
  made: Date.parse("2026-11-01T09:00:00Z"),
};

test("a calendar entry has its times in UTC and escapes what the format needs", () => {
  const text = calendar(entry).replaceAll("\r\n ", "");
  assert.match(text, /\r\nDTSTART:20261130T183000Z\r\n/);
  assert.match(text, /\r\nDTEND:20261130T184500Z\r\n/);
  assert.match(text, /\r\nDTSTAMP:20261101T090000Z\r\n/);
  assert.match(text, /SUMMARY:Vstupenka\\; „Příliš žluťoučký kůň\\, úpěl/);
  assert.match(text, /DESCRIPTION:One\\nTwo \\\\ three\r\n/);
  assert.ok(text.startsWith("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n") && text.endsWith("END:VCALENDAR\r\n"));
});

test("no line is longer than 75 octets and no character is cut", () => {
  for (const line of calendar(entry).split("\r\n")) {
    assert.ok(new TextEncoder().encode(line).length <= 75, line);
    assert.doesNotMatch(line, /[\ud800-\udfff]$/u);
  }
});
