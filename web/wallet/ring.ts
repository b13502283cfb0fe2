// The ring that empties until the next code comes.

import { svg } from "./svg.js";

const radius = 9;
const round = 2 * Math.PI * radius;

export class Ring {
  readonly element: SVGSVGElement;
  readonly #arc: SVGCircleElement;
  #left = 0;

  constructor() {
    const circle = { cx: "12", cy: "12", r: String(radius) };
    this.#arc = svg("circle", { ...circle, class: "arc", "stroke-dasharray": String(round) });
    this.element = svg("svg", { class: "ring", viewBox: "0 0 24 24" }, svg("circle", circle), this.#arc);
  }

  /** Draws the part that is left, 1 to 0. It fills at once and empties smoothly. */
  draw(left: number): void {
    this.#arc.style.transitionDuration = left > this.#left ? "0s" : "";
    this.#arc.style.strokeDashoffset = String(round * (1 - left));
    this.#left = left;
  }
}
