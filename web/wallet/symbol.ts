// The code as a drawing: one path of unit squares, dark on white, with the
// quiet zone of four modules that readers need.

import { encodeQR } from "qr";

/** Width of the quiet zone in modules (ISO/IEC 18004, section 9.1). */
export const quiet = 4;

/** A symbol to draw: `size` is its side in modules with the quiet zone, `path` an SVG path in modules. */
export interface Symbol {
  readonly size: number;
  readonly path: string;
}

/** Draws a text at level L: on a clean screen larger modules beat more correction. */
export function symbolOf(text: string): Symbol {
  const rows = encodeQR(text, "raw", { ecc: "low", border: quiet });
  return { size: rows.length, path: rows.map((row, y) => pathOf(row, y)).join("") };
}

// A run of dark modules is one rectangle: half the length, and no seams.
function pathOf(row: readonly boolean[], y: number): string {
  let path = "";
  for (let x = 0; x < row.length; x++) {
    if (row[x] !== true) continue;
    const start = x;
    while (row[x + 1] === true) x++;
    path += `M${start} ${y}h${x - start + 1}v1h-${x - start + 1}z`;
  }
  return path;
}
