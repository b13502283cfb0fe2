import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Messages, type Catalogue } from "../shared/messages.js";
import { samples } from "./samples.js";
import type { TicketState } from "./state.js";
import { during, offered } from "./testing.js";
import { Words } from "./words.js";

const words = (language: string, zone = "Europe/Prague") =>
  new Words(new Messages(language, JSON.parse(readFileSync(`locales/${language}.json`, "utf8")) as Catalogue), zone);

const plain = (text: string) => text.replaceAll(/[\u00a0\u202f]/g, " ");

test("times are the venue's, 24 hours unless the language marks am and pm", () => {
  const [noon, midnight] = ["2026-12-03T11:30:00Z", "2026-12-02T23:30:00Z"];
  for (const [language, texts] of [["en", ["12:30 PM", "12:30 AM"]], ["fr", ["12:30", "0:30"]], ["cs", ["12:30", "0:30"]]] as const) {
    assert.deepEqual([noon, midnight].map((at) => plain(words(language).time(at, "Europe/Prague", during))), texts, language);
  }
});

test("the day is said when it is another one in the venue's zone, and the zone when the phone lives by another hour", () => {
  assert.equal(plain(words("en").time("2026-12-05T18:30:00Z", "Europe/Prague", during)), "Sat, Dec 5, 7:30 PM");
  assert.equal(plain(words("en", "UTC").time("2026-12-03T18:30:00Z", "Europe/Prague", during)), "7:30 PM GMT+1");
  assert.equal(plain(words("en", "Europe/Berlin").time("2026-12-03T18:30:00Z", "Europe/Prague", during)), "7:30 PM");
});

test("a taken ticket says since when and on what kind of browser", () => {
  const taken = offered({ claimable: false, claimed: { at: "2026-12-02T09:15:00Z", browser: "Safari, iPhone" } });
  assert.equal(plain(words("en").offered(taken, "Europe/Prague", during)), "On another phone since Wed, Dec 2, 10:15 AM: Safari, iPhone");
});

test("every state has words in every language, none of them a bare key or an open placeholder", () => {
  for (const language of ["en", "fr", "cs"]) {
    const say = words(language);
    for (const [name, state] of Object.entries(samples)) {
      if (state.kind !== "tickets") continue;
      const text = [say.status(state), say.spoken(state), state.notice === undefined ? "-" : say.notice(state.notice)].join("|");
      assert.doesNotMatch(text, /wallet\.|\{\{|undefined/, `${language} ${name}`);
      assert.ok(say.status(state).length > 5, `${language} ${name}`);
    }
  }
});

test("a screen reader is told states, not rotations: new code, new second, same words", () => {
  const live = samples["live"] as TicketState;
  const later: TicketState = { ...live, now: live.now + 1000, face: { kind: "code", source: "pushed", why: undefined, symbol: { size: 45, path: "M0 0" }, left: 0.1, short: { kind: "offered" } } };
  assert.equal(words("en").spoken(later), words("en").spoken(live));
  assert.match(words("en").spoken(samples["short_shown"] as TicketState), /Short code: 4, 8, 2, 9, 1, 3\.$/);
  assert.notEqual(words("en").spoken(samples["offline"] as TicketState), words("en").spoken(live));
});
