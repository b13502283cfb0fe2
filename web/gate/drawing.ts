// Draws a page's state. The document is built once for each kind of state and
// then only the parts whose data changed, so that the camera's picture, the
// focus and a half-typed code survive what happens around them.

import { h } from "../shared/dom.js";
import { band, mayGoAlone } from "./aloneview.js";
import type { Acts, Page, State } from "./state.js";
import type { Phrases } from "./phrases.js";
import { setup } from "./setup.js";
import { verdict } from "./verdict.js";
import * as work from "./workplace.js";

/** Draws into an element, which it owns from then on. */
export class Drawing {
  /** The camera's picture; the same element as long as the page lives. */
  readonly video: HTMLVideoElement;
  readonly #root: HTMLElement;
  readonly #phrases: Phrases;
  readonly #acts: Acts;
  readonly #regions = new Map<string, { element: HTMLElement; drawn: string }>();
  readonly #spoken = h("p", { class: "spoken", role: "status", "aria-live": "assertive" });
  #kind: string | undefined;

  constructor(root: HTMLElement, phrases: Phrases, acts: Acts) {
    this.#root = root;
    this.#phrases = phrases;
    this.#acts = acts;
    this.video = h("video", { class: "picture", playsinline: true, muted: true, autoplay: true, "aria-hidden": "true", tabindex: -1 });
    this.video.muted = true;
  }

  draw(page: Page): void {
    const { state } = page;
    const fresh = this.#lay(state);
    if (state.kind === "working") this.#work(state);
    else {
      this.#region("setup", [state, page.update], () => setup(page, this.#phrases, this.#acts));
      if (fresh) this.#root.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    }
    this.#speak(state);
  }

  /** Lays the regions of a kind of state out; says whether it was another kind before. */
  #lay(state: State): boolean {
    const before = this.#kind;
    const kind = state.kind === "working" ? "work" : state.kind;
    if (before === kind) return false;
    this.#kind = kind;
    this.#regions.clear();
    document.documentElement.dataset["work"] = String(kind === "work");
    if (kind !== "work") this.#root.replaceChildren(this.#new("setup", "div"), this.#spoken);
    else {
      const stage = h("div", { class: "stage" }, this.video, this.#new("notice", "div"));
      this.#root.replaceChildren(
        h("div", { class: "head" }, this.#new("top", "header"), this.#new("band", "div")),
        stage,
        h("div", { class: "side" }, this.#new("aside", "section"), this.#new("strip", "section"), this.#new("bar", "nav"), this.#new("panel", "section")),
        this.#new("over", "section"),
        this.#spoken,
      );
      this.#label();
    }
    return before !== undefined;
  }

  #label(): void {
    const names = { aside: "gate.aside_title", strip: "gate.last_answer", bar: "gate.tools", panel: "gate.tools_open", over: "gate.answer" } as const;
    for (const [name, key] of Object.entries(names)) this.#regions.get(name)?.element.setAttribute("aria-label", this.#phrases.say(key));
  }

  #work(state: Extract<State, { kind: "working" }>): void {
    const { gate, person, online, lease, unsent, aside, overrides, direction, perhapsExits, camera, screen, panel, time_zone, trouble, alone } = state;
    const [phrases, acts] = [this.#phrases, this.#acts];
    this.#region("top", [gate, person, online, lease, unsent, aside.length, overrides, direction, perhapsExits, trouble, alone.data, time_zone], () => work.top(state, phrases));
    this.#region("band", [alone, time_zone], () => band(state, phrases, acts));
    this.#region("notice", [camera, lease], () => work.notice(state, phrases, acts));
    this.#region("aside", [aside, time_zone], () => work.aside(state, phrases, acts));
    this.#region("strip", screen.last, () => work.strip(state, phrases, acts));
    this.#region("bar", [panel.kind, lease], () => work.bar(state, phrases, acts));
    this.#region("panel", panel.kind === "recent" ? [panel, state.recent] : [panel, direction, state.optics], () => work.panel(state, phrases, acts));
    this.#region("over", [screen.over, panel.kind === "override", screen.over.kind === "asking" && mayGoAlone(alone)], () => verdict(screen.over, panel.kind === "override", mayGoAlone(alone), phrases, acts));
    this.video.hidden = camera !== "live";
  }

  #new(name: string, tag: "div" | "section" | "header" | "nav"): HTMLElement {
    const element = h(tag, { class: name });
    this.#regions.set(name, { element, drawn: "" });
    return element;
  }

  /** Draws a region again if its data changed, and keeps the focus on what has the same id. */
  #region(name: string, data: unknown, content: () => readonly Node[]): void {
    const region = this.#regions.get(name);
    const drawn = JSON.stringify(data) ?? "none";
    if (region === undefined || region.drawn === drawn) return;
    region.drawn = drawn;
    const focused = region.element.contains(document.activeElement) ? document.activeElement?.id : undefined;
    const nodes = content();
    region.element.replaceChildren(...nodes);
    region.element.hidden = nodes.length === 0;
    const wanted = region.element.querySelector<HTMLElement>("[data-focus]");
    if (wanted !== null) wanted.focus({ preventScroll: true });
    else if (focused !== undefined && focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
  }

  #speak(state: State): void {
    const words = state.kind === "working" ? work.spoken(state, this.#phrases) : "";
    if (this.#spoken.textContent !== words) this.#spoken.textContent = words;
  }
}
