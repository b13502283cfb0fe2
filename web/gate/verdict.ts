// The answer over the whole screen: colour, shape, word, and what the person at
// the door needs to know, largest first.

import { h } from "../shared/dom.js";
import { goAlone } from "./aloneview.js";
import { judgements } from "./parts.js";
import type { Button, Phrases, View } from "./phrases.js";
import { classOf, type Over } from "./screen.js";
import { shape, sign } from "./shapes.js";
import type { Acts } from "./state.js";

/** Draws what lies over the picture; `overriding` when a person is asked why a guest is let in all the same, `alone` when the controller may go on without network. */
export function verdict(over: Over, overriding: boolean, alone: boolean, phrases: Phrases, acts: Acts): readonly Node[] {
  switch (over.kind) {
    case "nothing":
      return [];
    case "asking":
      return [asking(over, alone, phrases, acts)];
    case "answer":
      return [answer(over, overriding, phrases, acts)];
  }
}

/** A tap sooner than this many milliseconds after an answer came was meant for what lay below. */
const meant = 350;

function asking(over: Extract<Over, { kind: "asking" }>, alone: boolean, phrases: Phrases, acts: Acts): Node {
  if (!over.slow) return h("div", { class: "asking" }, h("span", { class: "wait" }, phrases.say("gate.asking")));
  return h(
    "div",
    { class: "asking slow" },
    h("p", { class: "wait" }, phrases.say("gate.asking_slow")),
    ...(over.other ? [h("p", {}, phrases.say("gate.other_waits"))] : []),
    h("button", { class: "main wide", id: "set-aside", "data-focus": true, onclick: () => acts.setAside() }, phrases.say("gate.set_aside")),
    ...(alone ? [goAlone("go-alone-now", phrases, acts)] : []),
  );
}

function answer(over: Extract<Over, { kind: "answer" }>, overriding: boolean, phrases: Phrases, acts: Acts): Node {
  const view = phrases.view(over.shown);
  const cls = classOf(over.shown);
  // A tap beside the buttons must not lose a question that only they answer.
  const anywhere = !overriding && view.buttons.every(({ kind }) => kind === "override");
  const drawnAt = performance.now();
  // The focus goes to the answer, never to a button that admits: a hand scanner
  // ends each code with Enter.
  const attributes = {
    tabindex: -1,
    role: "group",
    "aria-label": view.title,
    "data-focus": cls !== "admit",
    class: "verdict",
    "data-class": cls,
    "data-reason": view.reason,
    "data-alone": view.alone !== undefined,
    ...(anywhere && { onclick: () => performance.now() - drawnAt > meant && acts.tap() }),
  };
  const small = sign(view.reason);
  return h(
    "div",
    attributes,
    h("div", { class: "headline" }, shape(cls), h("h2", {}, view.title, ...(view.alone === undefined ? [] : [h("small", { class: "alone" }, view.alone)]))),
    ...(view.place.length > 0 ? [h("p", { class: "place" }, ...view.place.map((word) => h("span", {}, word)))] : []),
    ...(view.attention === undefined ? [] : [h("p", { class: "attention" }, view.attention)]),
    ...(view.facts.length > 0 ? [h("p", { class: "facts" }, view.facts.join(" · "))] : []),
    // While the reason is asked for, the buttons need the room.
    ...(overriding ? [] : [h("div", { class: "detail" }, ...(small === undefined ? [] : [small]), h("div", {}, ...lines(view, over.old, phrases)))]),
    overriding ? reasons(phrases, acts) : choices(over, view, phrases, acts),
  );
}

/** Why the guest is let in: a press, or a sentence and a press. Enter does nothing, since hand scanners send it. */
function reasons(phrases: Phrases, acts: Acts): Node {
  const own = h("input", { id: "override-own", autocomplete: "off", maxlength: 200, "aria-label": phrases.say("gate.override_other"), placeholder: phrases.say("gate.override_other") });
  return h(
    "div",
    { class: "reasons" },
    h("h3", { tabindex: -1, "data-focus": true }, phrases.say("gate.override_why")),
    ...judgements.map((key, n) => h("button", { id: `override-${n}`, class: "choice", onclick: () => acts.override(phrases.say(key)) }, phrases.say(key))),
    h("div", { class: "own" }, own, h("button", { id: "override-send", class: "choice", onclick: () => own.value.trim() !== "" && acts.override(own.value.trim()) }, phrases.say("gate.override_send"))),
    h("button", { id: "override-cancel", class: "next", onclick: () => acts.open("none") }, phrases.say("gate.cancel")),
  );
}

function lines(view: View, old: boolean, phrases: Phrases): readonly Node[] {
  return [
    ...(old ? [h("p", { class: "line" }, phrases.say("gate.answered_before"))] : []),
    ...view.lines.map((line) => h("p", { class: "line" }, line)),
    ...(view.advice === "" ? [] : [h("p", { class: "advice" }, view.advice)]),
  ];
}

function choices(over: Extract<Over, { kind: "answer" }>, view: View, phrases: Phrases, acts: Acts): Node {
  // An answer from before is not a scan that could be sent again.
  const own = view.buttons.filter(({ kind }) => kind !== "override" || over.key !== undefined).map((button) => choice(button, phrases, acts));
  const judge = (event: Event) => {
    event.stopPropagation();
    acts.judgeAgain();
  };
  const must = view.buttons.some(({ kind }) => kind !== "override");
  const again = over.old && over.shown.kind === "answer" && !must;
  const next = must ? "gate.cancel" : over.other ? "gate.next_waits" : "gate.next";
  const onward = (event: Event) => {
    event.stopPropagation();
    acts.tap();
  };
  return h(
    "div",
    { class: "choices-row" },
    ...own,
    ...(again ? [h("button", { id: "judge-again", onclick: judge }, phrases.say("gate.judge_again"))] : []),
    h("button", { id: "next", class: "next", onclick: onward }, phrases.say(next)),
  );
}

function choice(button: Button, phrases: Phrases, acts: Acts): Node {
  if (button.kind === "phone_offline") {
    return h("button", { id: "phone-offline", class: "choice", onclick: () => acts.phoneOffline() }, phrases.say("gate.phone_offline"));
  }
  if (button.kind === "override") {
    const ask = (event: Event) => {
      event.stopPropagation();
      acts.askOverride();
    };
    return h("button", { id: "override", class: "judgement", onclick: ask }, phrases.say("gate.override"));
  }
  const { people, all } = button;
  const label = all ? phrases.say("gate.all_people", { count: people }) : String(people);
  const id = all ? "people-all" : `people-${people}`;
  return h("button", { id, class: "choice", onclick: () => acts.people(people) }, label);
}
