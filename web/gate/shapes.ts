// The four shapes of an answer and the small signs of its reasons, drawn as
// elements: a picture needs no second request and takes the text's colour.

import type { Class } from "./answers.js";
import type { Modules } from "./shown.js";

const space = "http://www.w3.org/2000/svg";

/** Paths in a square of 24, drawn as strokes. */
const shapes: Readonly<Record<Class, string>> = {
  admit: "M3.5 12.5l6 6L20.5 6",
  ask: "M8 13V5.5a1.5 1.5 0 0 1 3 0V11M11 11V3.5a1.5 1.5 0 0 1 3 0V11M14 11V5a1.5 1.5 0 0 1 3 0v7M17 9.5a1.5 1.5 0 0 1 3 0V15a7 7 0 0 1-7 7c-3.2 0-4.8-1.4-6.3-4l-2.9-5a1.5 1.5 0 0 1 2.6-1.5L8 14",
  refuse: "M5 5l14 14M19 5L5 19",
  again: "M12 4a8 8 0 1 1 0 16a8 8 0 0 1 0-16",
};

const clock = "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18M12 7v5l3 3";
const phone = "M8 2h8a1 1 0 0 1 1 1v18a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1M11 19h2";

/** One sign for each reason. */
const signs: Readonly<Record<string, string>> = {
  admitted: "M6 21V4h9v17M15 8h4v13M4 21h17M12 12v1",
  malformed: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14l6 6M20 14l-6 6",
  unsupported_version: "M12 3v10M8 9l4 4 4-4M4 20h16",
  not_a_ticket: "M3 8h18v8H3zM7 8v8M11 11h6",
  unknown_ticket: "M9 9a3 3 0 1 1 4 2.8c-.8.4-1 1-1 2.2M12 18v.5",
  bad_signature: "M3 18c3-9 5-9 5-4s3 2 4 0 2 3 4 2M16 5l5 5M21 5l-5 5",
  not_assigned: "M12 4a3.5 3.5 0 1 0 0 7a3.5 3.5 0 0 0 0-7M5 21c0-4 3-6 7-6s7 2 7 6M17 3l4 4M21 3l-4 4",
  wrong_event: "M4 6h16v14H4zM4 10h16M8 3v4M16 3v4M10 13l4 4M14 13l-4 4",
  wrong_gate: "M4 12h13M12 7l5 5-5 5M20 4v16",
  stale_nonce: "M7 3h10M7 21h10M8 3c0 5 8 6 8 9s-8 4-8 9M16 3c0 5-8 6-8 9s8 4 8 9",
  unknown_nonce: "M4 12a8 8 0 0 1 14-5l2 2M20 4v5h-5M12 12v.5M20 12a8 8 0 0 1-14 5l-2-2M4 20v-5h5",
  wrong_controller: "M5 20V9h5v11M14 20V4h5v16M3 20h18M7 5h4M9 3l2 2-2 2",
  clock_skew: `${clock}M20 2l2 3`,
  needs_assist: `${phone}M3 3l18 18`,
  fallback_refused: `${phone}M2 9c-1 2-1 4 0 6M22 9c1 2 1 4 0 6`,
  totp_wrong: "M3 8h18v8H3zM7 12h.1M12 12h.1M15 10.5l3 3M18 10.5l-3 3",
  totp_replayed: "M3 8h18v8H3zM7 12h.1M10 12h.1M13 12h.1M16 12l1.5 1.5 2.5-3",
  totp_locked: "M6 11h12v10H6zM9 11V7a3 3 0 0 1 6 0v4M12 15v2",
  paper_not_allowed: "M6 2h8l4 4v16H6zM14 2v4h4M9 12l6 6M15 12l-6 6",
  moved: "M3 5h7v14H3zM14 8h7v11h-7zM10 12h4",
  revoked: "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18M6 6l12 12",
  held: "M9 5v14M15 5v14",
  too_early: `${clock}M3 3l3 2`,
  too_late: `${clock}M17 3l4 4`,
  choose_people: "M8 6a3 3 0 1 0 0 6a3 3 0 0 0 0-6M2 20c0-4 3-6 6-6s6 2 6 6M16 7a2.5 2.5 0 1 0 0 5M17 14c3 0 5 2 5 5",
  already_used: "M3 7h18v10H3zM8 12l3 3 5-6",
  already_inside: "M4 4h16v16H4zM9 12l2 3 4-6",
  not_inside: "M10 4h10v16H10M3 12h10M7 8l-4 4 4 4",
  entries_exhausted: "M7 5a2.5 2.5 0 1 0 0 5M17 5a2.5 2.5 0 1 1 0 5M2 20c0-5 4-7 6-7M22 20c0-5-4-7-6-7M9 17h6",
  undone: "M8 5L3 10l5 5M3 10h11a6 6 0 0 1 0 12h-4",
  superseded: "M3 4h11v9H3zM10 11h11v9H10z",
  not_in_pack: "M4 6h16M4 12h10M4 18h7M16 15l5 5M21 15l-5 5",
  problem: "M12 3l10 18H2zM12 10v5M12 18v.5",
};

function drawn(path: string, name: string, stroke: number): SVGSVGElement {
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", name);
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  line.setAttribute("stroke-width", String(stroke));
  line.setAttribute("stroke-linecap", "round");
  line.setAttribute("stroke-linejoin", "round");
  svg.append(line);
  return svg;
}

/** The large shape of a class: tick, hand, cross, circle. */
export function shape(cls: Class): SVGSVGElement {
  return drawn(shapes[cls], "shape", cls === "ask" ? 1.6 : 2.6);
}

/** The small sign of a reason; a reason of a newer server gets none. */
export function sign(reason: string): SVGSVGElement | undefined {
  const path = signs[reason];
  return path === undefined ? undefined : drawn(path, "sign", 1.8);
}

/** A code of dark modules on white, with its quiet zone. */
export function qrPicture(modules: Modules, label: string): SVGSVGElement {
  const svg = document.createElementNS(space, "svg");
  const size = modules.length;
  svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
  svg.setAttribute("shape-rendering", "crispEdges");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const path = document.createElementNS(space, "path");
  const dark = modules.flatMap((row, y) => row.flatMap((on, x) => (on ? [`M${x} ${y}h1v1h-1z`] : [])));
  path.setAttribute("d", dark.join(""));
  svg.append(path);
  return svg;
}
