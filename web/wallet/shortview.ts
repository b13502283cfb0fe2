// The short code below a ticket's card: the button that asks for it, and in its
// place the digits with the time that they still live.

import { h } from "../shared/dom.js";
import { button } from "./plain.js";
import { grouped, spelled } from "./short.js";
import type { Acts, Face, Short } from "./state.js";
import type { Words } from "./words.js";

export class ShortView {
  readonly element: HTMLElement;
  readonly button: HTMLButtonElement;
  readonly #words: Words;
  readonly #seen = h("span", { "aria-hidden": "true" });
  readonly #spelled = h("span", { class: "spoken" });
  readonly #digits = h("p", { class: "digits number" }, this.#seen, this.#spelled);
  readonly #text = h("p", { class: "soft number" });

  constructor(words: Words, acts: Acts) {
    this.#words = words;
    this.button = button(words, "wallet.short_show", acts.shortCode);
    this.element = h("div", { class: "short", role: "group", "aria-label": words.say("wallet.short_label"), tabindex: -1, hidden: true }, this.#digits, this.#text);
  }

  draw(face: Face): void {
    const short = face.kind === "code" ? face.short : undefined;
    const told = short !== undefined && short.kind !== "offered";
    const offered = short?.kind === "offered" || (short?.kind === "failed" && face.kind === "code" && face.source === "pushed");
    this.element.setAttribute("aria-label", this.#words.say(short?.kind === "own" ? "wallet.own_label" : "wallet.short_label"));
    if (told) this.#tell(short);
    this.#swap(told, offered);
  }

  #tell(short: Exclude<Short, { kind: "offered" }>): void {
    const code = short.kind === "shown" || short.kind === "own" ? short.code : "";
    this.#digits.hidden = code === "";
    text(this.#seen, grouped(code));
    text(this.#spelled, spelled(code));
    text(this.#text, this.#explained(short));
  }

  #explained(short: Exclude<Short, { kind: "offered" }>): string {
    switch (short.kind) {
      case "shown":
        return `${this.#words.say("wallet.short_how")} ${this.#words.say("wallet.short_left", { count: short.left })}`;
      case "own":
        return `${this.#words.short(short)} ${this.#words.say("wallet.own_left", { count: short.left })}`;
      default:
        return this.#words.short(short);
    }
  }

  /** What comes into view takes over the focus of what goes, so that a keyboard keeps its place. */
  #swap(told: boolean, offered: boolean): void {
    const { activeElement } = document;
    const lost = (!told && this.element === activeElement) || (!offered && this.button === activeElement);
    this.element.hidden = !told;
    this.button.hidden = !offered;
    if (!lost) return;
    if (told) this.element.focus({ preventScroll: true });
    else if (offered) this.button.focus({ preventScroll: true });
  }
}

function text(element: HTMLElement, words: string): void {
  if (element.textContent !== words) element.textContent = words;
}
