// Draws a state of the page. What stays the same stays in the document: the
// focus, the camera's picture, and the ticket while its code changes.

import { h } from "../shared/dom.js";
import { camera } from "./lookout.js";
import { offer } from "./landing.js";
import { move, notMe } from "./moveview.js";
import { plain } from "./plain.js";
import type { Acts, State } from "./state.js";
import { TicketView } from "./ticketview.js";
import type { Words } from "./words.js";

/** Draws into an element, which it owns from then on. */
export class Drawing {
  /** The camera's picture; the same element as long as the page lives. */
  readonly video = h("video", { class: "picture", playsinline: true, muted: true, "aria-hidden": "true", tabindex: -1 });
  readonly #root: HTMLElement;
  readonly #words: Words;
  readonly #acts: Acts;
  readonly #stage = h("div", { class: "stage" });
  readonly #spoken = h("p", { class: "spoken", role: "status" });
  #view: TicketView | undefined;
  #kind: State["kind"] | undefined;
  #drawn = "";

  constructor(root: HTMLElement, words: Words, acts: Acts) {
    this.#root = root;
    this.#words = words;
    this.#acts = acts;
    this.video.muted = true;
  }

  draw(state: State): void {
    if (this.#kind === undefined) this.#root.replaceChildren(this.#stage, this.#spoken);
    const before = this.#kind;
    this.#kind = state.kind;
    if (state.kind === "tickets") this.#ticket(state, before !== "tickets");
    else this.#other(state);
    // The first picture takes no focus: nobody has begun to read yet.
    if (before !== undefined && before !== "loading" && before !== state.kind) this.#stage.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    document.documentElement.dataset["page"] = state.kind;
  }

  #ticket(state: Extract<State, { kind: "tickets" }>, fresh: boolean): void {
    this.#view ??= new TicketView(this.#words, this.#acts);
    this.#view.draw(state);
    if (fresh) this.#stage.replaceChildren(...this.#view.elements);
    this.#drawn = "";
    this.#speak(this.#words.spoken(state));
  }

  #other(state: Exclude<State, { kind: "tickets" }>): void {
    const drawn = JSON.stringify(state);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const focused = this.#stage.contains(document.activeElement) ? document.activeElement?.id : undefined;
    this.#stage.replaceChildren(...this.#content(state));
    if (focused !== undefined && focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
    this.#speak([...this.#stage.querySelectorAll("[data-say]")].map((element) => element.textContent).join(" "));
  }

  #content(state: Exclude<State, { kind: "tickets" }>): readonly Node[] {
    switch (state.kind) {
      case "offer":
        return offer(state, this.#words, this.#acts);
      case "move":
        return move(state, this.#words, this.#acts);
      case "not_me":
        return notMe(state, this.#words, this.#acts);
      case "camera":
        return camera(state, this.video, this.#words, this.#acts);
      default:
        return plain(state, this.#words, this.#acts);
    }
  }

  #speak(words: string): void {
    if (this.#spoken.textContent !== words) this.#spoken.textContent = words;
  }
}
