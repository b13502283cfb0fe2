// The pages with a few words on them and at most one button.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import type { Acts, State } from "./state.js";
import type { Words } from "./words.js";

type Plain = Extract<State, { kind: "loading" | "no_link" | "finishing" | "link_failed" | "cannot_keep" }>;

export function plain(state: Plain, words: Words, acts: Acts): readonly Node[] {
  switch (state.kind) {
    case "loading":
      return page(words, "wallet.title", "common.loading");
    case "no_link":
      return page(words, "wallet.title", "wallet.needs_link");
    case "finishing":
      return page(words, "wallet.title", "wallet.claim_waits");
    case "cannot_keep":
      return page(words, "wallet.cannot_keep_title", "wallet.cannot_keep", button(words, "wallet.try_again", acts.retry));
    case "link_failed":
      return failed(state.why, words, acts);
  }
}

function failed(why: Extract<Plain, { kind: "link_failed" }>["why"], words: Words, acts: Acts): readonly Node[] {
  switch (why) {
    case "unknown":
      return page(words, "wallet.link_unknown_title", "wallet.link_unknown");
    case "ended":
      return page(words, "wallet.link_ended_title", "wallet.link_ended");
    case "unreachable":
      return page(words, "wallet.unreachable_title", "wallet.unreachable", button(words, "wallet.try_again", acts.retry));
    case "refused":
      return page(words, "wallet.refused_title", "wallet.refused", button(words, "wallet.try_again", acts.retry));
  }
}

function page(words: Words, title: Key, text: Key, ...more: Node[]): readonly Node[] {
  return [h("div", { class: "plain" }, h("h1", { tabindex: -1, "data-say": true }, words.say(title)), h("p", { "data-say": true }, words.say(text)), ...more)];
}

/** A button of full width; `kind` "main" for the one that matters. */
export function button(words: Words, label: Key, press: () => void, kind: "main" | "" = "", values: Readonly<Record<string, string | number>> = {}): HTMLButtonElement {
  return h("button", { type: "button", id: label.replace(".", "-"), class: `wide ${kind}`, onclick: press }, words.say(label, values));
}
