// Draws a state. A new tree is made each time and laid over the old one, so
// that the focus, the cursor and a half-typed word survive what happens around
// them. All events are heard here, once, and read from attributes.

import { h } from "../shared/dom.js";
import { frame } from "./frame.js";
import type { Phrases } from "./phrases.js";
import type { Acts, State } from "./state.js";
import { view } from "./view.js";

/** What a view is about; another one gets the focus on its heading. */
function subject(state: State): string {
  switch (state.kind) {
    case "event":
    case "report":
    case "mails":
    case "issue":
      return `${state.kind} ${state.event.event}`;
    case "ticket":
      return `ticket ${state.ticket.ticket}`;
    case "person":
      return `person ${state.person.person}`;
    default:
      return state.kind;
  }
}

/** Milliseconds for which something said in passing stays. */
const saidFor = 6000;

/** Draws into an element, which it owns from then on. */
export class Drawing {
  readonly #root: HTMLElement;
  readonly #p: Phrases;
  readonly #said = h("p", { class: "said", role: "status" });
  #subject: string | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement, p: Phrases, acts: Acts) {
    this.#root = root;
    this.#p = p;
    root.replaceChildren(h("div", { class: "frame" }), h("main", { id: "main", tabindex: -1 }), this.#said);
    listen(root, acts);
  }

  /** Shows a state. `focus` is the id of the element that gets the focus if it is there. */
  draw(state: State, focus?: string): void {
    const now = subject(state);
    const fresh = now !== this.#subject;
    const [top, main] = this.#root.children as unknown as [HTMLElement, HTMLElement];
    const nextTop = h("div", { class: "frame" }, ...frame(state, this.#p));
    const nextMain = h("main", { id: "main", tabindex: -1, "data-view": state.kind }, ...view(state, this.#p));
    lay(top, nextTop);
    if (fresh) main.replaceWith(nextMain);
    else lay(main, nextMain);
    if (fresh) this.#open(nextMain, this.#subject !== undefined);
    this.#subject = now;
    if (focus !== undefined) (document.getElementById(focus) ?? document.getElementById("title"))?.focus();
  }

  /** Says something in passing, to the eye and to a screen reader. */
  say(text: string): void {
    clearTimeout(this.#silence);
    this.#said.textContent = text;
    this.#silence = setTimeout(() => (this.#said.textContent = ""), saidFor);
  }

  /** While a view is being fetched the old one stays, and says so. */
  busy(busy: boolean): void {
    this.#root.querySelector("main")?.setAttribute("aria-busy", String(busy));
  }

  #open(main: HTMLElement, focus: boolean): void {
    const title = main.querySelector("h1");
    if (title === null) return;
    document.title = `${title.textContent} · ${this.#p.say("desk.title")}`;
    window.scrollTo(0, 0);
    // The first view of a page is read from its top anyway.
    if (focus) title.focus({ preventScroll: true });
  }
}

function listen(root: HTMLElement, acts: Acts): void {
  root.addEventListener("click", (event) => {
    const target = event.target as Element;
    const pressed = target.closest<HTMLElement>("[data-act]");
    if (pressed !== null && pressed.tagName === "BUTTON") acts.press(pressed.dataset["act"] ?? "", pressed.dataset["on"] ?? "");
    if (target instanceof HTMLInputElement && target.dataset["copy"] !== undefined) target.select();
  });
  const typed = (event: globalThis.Event) => {
    const control = event.target;
    if (!(control instanceof HTMLInputElement || control instanceof HTMLSelectElement || control instanceof HTMLTextAreaElement)) return;
    const value = control instanceof HTMLInputElement && control.type === "checkbox" && !control.checked ? "" : control.value;
    const act = control.dataset["act"];
    if (act !== undefined && event.type === "change") acts.press(act, value);
    const form = control.closest<HTMLElement>("[data-form]")?.dataset["form"];
    if (form !== undefined && control.dataset["field"] !== undefined) acts.type(form, control.dataset["field"], value);
  };
  root.addEventListener("input", typed);
  root.addEventListener("change", typed);
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    const form = (event.target as HTMLElement).dataset["form"];
    if (form !== undefined) acts.submit(form);
  });
  // Beside a sheet, which lies over the page: pressed and let go there, so that a
  // text that is marked to beyond the edge is not meant.
  let beside = false;
  const besides = (target: EventTarget | null) => target instanceof Element && document.querySelector("[data-sheet]") !== null && target.closest("[data-sheet], .frame, a, button, .said") === null;
  document.addEventListener("pointerdown", (event) => (beside = besides(event.target)));
  document.addEventListener("click", (event) => {
    if (beside && besides(event.target)) acts.press("outside", "");
  });
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") acts.press("escape", "");
  });
}

/** Lays a new tree over an old one: what is the same stays the same element. */
export function lay(old: Element, fresh: Element): void {
  syncAttributes(old, fresh);
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, at) => {
    const present = before[at];
    if (present === undefined) old.append(node);
    else if (!alike(present, node)) (present as ChildNode).replaceWith(node);
    else if (present instanceof Element && node instanceof Element) layOver(present, node);
    else if (present.nodeValue !== node.nodeValue) present.nodeValue = node.nodeValue;
  });
  before.slice(after.length).forEach((node) => node.remove());
}

function layOver(old: Element, fresh: Element): void {
  if (!control(old) && !old.isEqualNode(fresh)) return lay(old, fresh);
  if (control(old) && control(fresh)) {
    lay(old, fresh);
    if (old.value !== fresh.value) old.value = fresh.value;
    if (old instanceof HTMLInputElement && fresh instanceof HTMLInputElement) old.checked = fresh.checked;
  } else if (fresh.querySelector("input, select, textarea") !== null) {
    // Equal to look at, but what was typed stands in no attribute.
    lay(old, fresh);
  }
}

function control(node: Element): node is HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement {
  return node instanceof HTMLInputElement || node instanceof HTMLSelectElement || node instanceof HTMLTextAreaElement;
}

function alike(a: Node, b: Node): boolean {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element && b instanceof Element) || (a.id === b.id && a.getAttribute("type") === b.getAttribute("type"));
}

function syncAttributes(old: Element, fresh: Element): void {
  for (const { name } of [...old.attributes]) {
    // What was folded out stays so: the browser notes it in an attribute of its own.
    const own = name === "open" && old.nodeName === "DETAILS";
    if (!own && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
}
