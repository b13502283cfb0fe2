// SVG elements, which document.createElement does not make.

/** Makes an SVG element with attributes and children. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Readonly<Record<string, string>>, ...children: Node[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const shapes = { tick: "M14 26l8 8 14-17", cross: "M16 16l18 18M34 16l-18 18" } as const;

/** A tick or a cross in a circle, in the colour of the text. */
export function picture(shape: keyof typeof shapes): SVGSVGElement {
  return svg(
    "svg",
    { class: "sign", viewBox: "0 0 50 50", "aria-hidden": "true" },
    svg("circle", { cx: "25", cy: "25", r: "23" }),
    svg("path", { d: shapes[shape] }),
  );
}
