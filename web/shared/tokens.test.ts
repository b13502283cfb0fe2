import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

/** Text and the ground it stands on; all of them must hold the ratio in both schemes. */
const pairs: readonly (readonly [text: string, ground: string])[] = [
  ["ink", "paper"],
  ["ink", "veil"],
  ["ink-soft", "veil"],
  ["accent", "veil"],
  ["ink", "panel"],
  ["ink-soft", "paper"],
  ["ink-soft", "panel"],
  ["accent", "paper"],
  ["accent", "panel"],
  ["on-accent", "accent"],
  ["on-admit", "admit"],
  ["on-ask", "ask"],
  ["on-refuse", "refuse"],
  ["on-again", "again"],
  ["code-ink", "code-ground"],
];

/** The focus ring is no text: WCAG 2.2 1.4.11 asks 3:1 against what is around it. */
const rings: readonly (readonly [string, string])[] = [["focus", "paper"], ["focus", "panel"]];

const css = readFileSync("shared/tokens.css", "utf8");

function colours(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/--([a-z-]+):\s*(#[0-9a-f]{6});/g)].map((found) => [found[1], found[2]]));
}

/** The tokens of each scheme: the dark one overrides the light one. */
function schemes(): Record<"light" | "dark", Record<string, string>> {
  const [light = "", dark] = css.split("@media (prefers-color-scheme: dark)");
  assert.ok(dark, "there is a dark scheme");
  return { light: colours(light), dark: { ...colours(light), ...colours(dark) } };
}

/** Relative luminance of #rrggbb (WCAG 2.2, "relative luminance"). */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Contrast ratio from 1 to 21 (WCAG 2.2, "contrast ratio"). */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

test("the contrast formula gives the ratios that WCAG names", () => {
  assert.equal(contrast("#000000", "#ffffff").toFixed(2), "21.00");
  assert.equal(contrast("#777777", "#ffffff").toFixed(2), "4.48");
});

for (const [scheme, tokens] of Object.entries(schemes())) {
  for (const [asked, list] of [[4.5, pairs], [3, rings]] as const) {
    for (const [text, ground] of list) {
      test(`${text} on ${ground} holds ${asked}:1 in the ${scheme} scheme`, () => {
        const ratio = contrast(tokens[text] ?? "missing", tokens[ground] ?? "missing");
        assert.ok(ratio >= asked, `${ratio.toFixed(2)}:1`);
      });
    }
  }
}
