// A ticket on the screen: a white card with the code in every colour scheme,
// what is printed on it, and one sentence on how it stands. Built once; each
// drawing changes only what is different, the code in a single step.

import { h } from "../shared/dom.js";
import { button } from "./plain.js";
import { Ring } from "./ring.js";
import { ShortView } from "./shortview.js";
import { remaining } from "./stack.js";
import type { Acts, Face, TicketState } from "./state.js";
import { picture, svg } from "./svg.js";
import type { Words } from "./words.js";

/** A flick of the finger of at least so many pixels turns to the next ticket. */
const flick = 60;

export class TicketView {
  readonly elements: readonly HTMLElement[];
  readonly #words: Words;
  readonly #title = h("h1", { tabindex: -1 });
  readonly #where = h("p", { class: "where number" });
  readonly #path = svg("path", {});
  readonly #code: SVGSVGElement;
  readonly #message = h("div", { class: "message" });
  readonly #ring = new Ring();
  readonly #clock = h("span", { class: "clock number" });
  readonly #band: HTMLElement;
  readonly #stub = h("dl", { class: "stub" });
  readonly #card: HTMLElement;
  readonly #notice = h("p", { class: "notice", "data-class": "ask" });
  readonly #status = h("p", { class: "status" });
  readonly #bright: HTMLElement;
  readonly #position = h("span", { class: "number" });
  readonly #turns: HTMLElement;
  readonly #scan: HTMLButtonElement;
  readonly #early: HTMLButtonElement;
  readonly #short: ShortView;
  readonly #drawn = new Map<string, string>();

  constructor(words: Words, acts: Acts) {
    this.#words = words;
    this.#code = svg("svg", { class: "code", role: "img", "aria-label": words.say("wallet.code_label"), viewBox: "0 0 45 45", "shape-rendering": "crispEdges" }, this.#path);
    this.#band = h("div", { class: "band", "aria-hidden": "true" }, this.#clock, this.#ring.element);
    this.#card = h("section", { class: "card", "aria-label": words.say("wallet.title") }, h("div", { class: "window" }, this.#code, this.#message), this.#band, this.#stub);
    this.#bright = h("p", { class: "soft hint" }, words.say("wallet.brightness"));
    this.#turns = h("nav", { class: "turns", "aria-label": words.say("wallet.stack") }, turn(words, acts, -1), this.#position, turn(words, acts, 1));
    this.#scan = button(words, "wallet.scan_gate", acts.scanGate);
    this.#early = button(words, "wallet.show_early", acts.showEarly);
    this.#short = new ShortView(words, acts);
    swipe(this.#card, acts);
    this.elements = [
      h("header", { class: "head" }, this.#title, this.#where),
      this.#notice,
      this.#card,
      h("div", { class: "below" }, this.#short.element, this.#status, this.#turns, h("div", { class: "pair" }, this.#scan, this.#short.button), this.#early, this.#bright),
    ];
  }

  draw(state: TicketState): void {
    const { ticket, face, notice, count, position, now } = state;
    const { event } = ticket;
    this.#card.dataset["face"] = face.kind;
    text(this.#title, event.name);
    this.#once("where", [event, Math.floor(now / 60_000)], () => text(this.#where, this.#place(state)));
    this.#once("stub", [ticket], () => this.#stub.replaceChildren(...this.#details(state)));
    this.#once("message", [face.kind === "code" ? "code" : face, ticket, Math.floor(now / 60_000)], () => this.#message.replaceChildren(...this.#says(state)));
    this.#face(face);
    text(this.#clock, this.#words.clock(now, event.time_zone));
    text(this.#status, this.#words.status(state));
    this.#status.hidden = face.kind !== "code" && face.kind !== "waiting" && face.kind !== "welcome"; // then the card says it
    this.#notice.hidden = notice === undefined;
    if (notice !== undefined) text(this.#notice, this.#words.notice(notice));
    this.#turns.hidden = count < 2;
    text(this.#position, this.#words.say("wallet.position", { at: position, count }));
    this.#scan.hidden = face.kind !== "code" || face.source === "shown" || face.source === undefined;
    this.#scan.classList.toggle("main", face.kind === "code" && face.source === "timed");
    this.#early.hidden = face.kind !== "waiting";
    this.#short.draw(face);
    this.#bright.hidden = face.kind !== "code" || face.short?.kind === "shown";
  }

  #face(face: Face): void {
    const symbol = face.kind === "code" ? face.symbol : undefined;
    this.#code.toggleAttribute("hidden", symbol === undefined);
    this.#message.hidden = symbol !== undefined;
    this.#band.hidden = face.kind !== "code";
    if (face.kind === "code") this.#ring.draw(face.left);
    this.#once("code", symbol, () => {
      this.#path.setAttribute("d", symbol?.path ?? "");
      if (symbol !== undefined) this.#code.setAttribute("viewBox", `0 0 ${symbol.size} ${symbol.size}`);
    });
  }

  #place({ ticket: { event }, now }: TicketState): string {
    return [event.venue_name, event.screen, this.#words.time(event.starts_at, event.time_zone, now)].filter((part) => part !== "").join(" · ");
  }

  #details({ ticket }: TicketState): readonly Node[] {
    const rows: [string, string][] = [
      [this.#words.say("wallet.seat"), ticket.seat],
      [this.#words.say("wallet.category"), ticket.category],
      [this.#words.say("wallet.number_name"), String(ticket.number)],
    ];
    if (ticket.admits > 1) rows.push([this.#words.say("wallet.people"), this.#words.say("wallet.of", { left: remaining(ticket), count: ticket.admits })]);
    return rows.filter(([, value]) => value !== "").map(([name, value], i) => h("div", { class: i === 0 ? "first" : "" }, h("dt", {}, name), h("dd", { class: "number" }, value)));
  }

  /** What stands in the place of the code. */
  #says(state: TicketState): readonly Node[] {
    const { face, ticket, now } = state;
    const time = (at: string) => this.#words.time(at, ticket.event.time_zone, now);
    switch (face.kind) {
      case "code":
        return [h("p", {}, this.#words.say("wallet.code_coming"))];
      case "waiting":
        return this.#doors(state);
      case "welcome":
        return [picture("tick"), h("p", { class: "large" }, this.#words.say("wallet.welcome")), h("p", { class: "number" }, [time(face.at), face.gate].filter((part) => part !== "").join(" · "))];
      case "used":
        return [picture("tick"), h("p", {}, this.#words.status(state))];
      default:
        return [picture("cross"), h("p", { class: "strong" }, this.#words.status(state))];
    }
  }

  #doors({ ticket: { event }, now }: TicketState): readonly Node[] {
    const [at, zone] = [event.doors_open_at, event.time_zone];
    const another = this.#words.day(at, zone) !== this.#words.day(now, zone);
    return [
      h("p", { class: "soft" }, this.#words.say("wallet.doors")),
      h("p", { class: "large number" }, this.#words.bare(at, zone)),
      ...(another ? [h("p", { class: "soft" }, this.#words.day(at, zone))] : []),
    ];
  }

  #once(name: string, data: unknown, draw: () => void): void {
    const drawn = JSON.stringify(data) ?? "";
    if (this.#drawn.get(name) === drawn) return;
    this.#drawn.set(name, drawn);
    draw();
  }
}

function text(element: HTMLElement, words: string): void {
  if (element.textContent !== words) element.textContent = words;
}

function turn(words: Words, acts: Acts, by: 1 | -1): HTMLButtonElement {
  const label = words.say(by === 1 ? "wallet.next" : "wallet.previous");
  return h("button", { type: "button", class: "turn", id: by === 1 ? "next" : "previous", "aria-label": label, onclick: () => acts.turn(by) }, by === 1 ? "›" : "‹");
}

function swipe(card: HTMLElement, acts: Acts): void {
  let from: number | undefined;
  card.addEventListener("pointerdown", (event) => (from = event.clientX));
  card.addEventListener("pointercancel", () => (from = undefined));
  card.addEventListener("pointerup", (event) => {
    if (from !== undefined && Math.abs(event.clientX - from) >= flick) acts.turn(event.clientX < from ? 1 : -1);
    from = undefined;
  });
}
