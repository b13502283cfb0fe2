// Pictures of codes as bad cameras see them, made from a seed: the same seed
// gives the same bytes on every machine, so that a decoder's share is a number
// that can be compared.

import { encodeQR } from "qr";
import { alphabet } from "../proof/base45.js";

/** What is wrong with a picture. Each has a little tilt, blur and noise besides. */
export const kinds = ["blur", "tilt", "glare", "low light", "noise", "small", "dark page", "motion", "shadow", "moiré"] as const;
export type Kind = (typeof kinds)[number];

/** One picture (RGBA, grey) and the text of the code in it. */
export interface Picture {
  readonly kind: Kind;
  readonly text: string;
  readonly image: { readonly data: Uint8ClampedArray<ArrayBuffer>; readonly width: number; readonly height: number };
}

/** The size that the gate's page asks its camera for. */
export const width = 1280;
export const height = 720;

/** Characters of a code that a phone signs. */
const length = 128;
const quiet = 4;

/** How a code is held, and what the lens, the light and the sensor make of it. */
interface Scene {
  /** Width of a module in pixels. */
  module: number;
  /** Degrees: in the picture's plane, about the upright axis, about the level axis. */
  turned: number;
  leant: number;
  nodding: number;
  /** Standard deviation of the lens's blur in pixels. */
  blur: number;
  /** Length in pixels and direction in degrees of a movement while the shutter was open. */
  moved: number;
  heading: number;
  /** Standard deviation of the sensor's noise, of 255. */
  noise: number;
  /** Share of the light that there is, and the level of black. */
  light: number;
  black: number;
  /** Whether a browser made the page dark: light modules on a dark card. */
  inverted: boolean;
  /** A lamp mirrored in the screen: its strength, width in pixels and place in half sides of the card. */
  glare: number;
  glareWidth: number;
  glareX: number;
  glareY: number;
  /** What a shadow leaves of the light, and the direction in degrees of its edge through the card. */
  shadow: number;
  edge: number;
  /** Strength and period in pixels of the pattern between the screen's and the sensor's grid. */
  moire: number;
  period: number;
}

/** Makes `each` pictures of every kind. */
export function* pictures(seed: number, each: number): Generator<Picture> {
  const random = generator(seed);
  for (const kind of kinds) {
    for (let i = 0; i < each; i++) {
      const text = `PS1:${Array.from({ length: length - 4 }, () => alphabet.charAt(Math.floor(random() * alphabet.length))).join("")}`;
      yield { kind, text, image: picture(text, scene(kind, random), random) };
    }
  }
}

/** Numbers in [0, 1), the same for the same seed (mulberry32, public domain). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

function scene(kind: Kind, random: () => number): Scene {
  const between = (least: number, most: number) => least + (most - least) * random();
  const plain: Scene = {
    module: between(4.5, 8), turned: between(-15, 15), leant: between(-8, 8), nodding: between(-8, 8),
    blur: between(0.4, 0.8), moved: 0, heading: between(0, 180), noise: between(1, 3), light: 1, black: 16, inverted: false,
    glare: 0, glareWidth: 40, glareX: between(-0.8, 0.8), glareY: between(-0.8, 0.8), shadow: 1, edge: between(0, 360), moire: 0, period: 4,
  };
  switch (kind) {
    case "blur":
      return { ...plain, module: between(4, 6), blur: between(1.3, 2.9) };
    case "tilt":
      return { ...plain, module: between(4, 6), turned: between(-180, 180), leant: between(25, 60), nodding: between(-25, 25) };
    case "glare":
      return { ...plain, glare: between(100, 400), glareWidth: between(16, 38) };
    case "low light":
      return { ...plain, light: between(0.06, 0.3), black: 12, noise: between(2, 4) };
    case "noise":
      return { ...plain, noise: between(6, 40) };
    case "small":
      return { ...plain, module: between(1.7, 3), blur: between(0.3, 0.7) };
    case "dark page":
      return { ...plain, inverted: true, module: between(3.5, 7), light: between(0.5, 1), blur: between(0.6, 1.7), noise: between(1, 5) };
    case "motion":
      return { ...plain, module: between(4, 7), moved: between(3, 11) };
    case "shadow":
      return { ...plain, shadow: between(0.06, 0.6), light: between(0.5, 1) };
    case "moiré":
      return { ...plain, module: between(4, 7), moire: between(0.15, 0.7), period: between(2.2, 12) };
  }
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

function picture(text: string, s: Scene, random: () => number): Picture["image"] {
  const modules = encodeQR(text, "raw", { ecc: "low", border: quiet });
  const light = blur(stand(modules, s), s);
  const reach = (modules.length * s.module) / 2;
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      const dx = x - width / 2;
      const dy = y - height / 2;
      let value = light[i] ?? 0;
      if (s.shadow < 1) {
        const across = dx * Math.cos(radians(s.edge)) + dy * Math.sin(radians(s.edge));
        value *= s.shadow + (1 - s.shadow) / (1 + Math.exp(-across / 6));
      }
      if (s.moire > 0) {
        const along = (dx * Math.cos(radians(s.heading)) + dy * Math.sin(radians(s.heading))) / s.period;
        value *= 1 - (s.moire * (1 + Math.sin(2 * Math.PI * along))) / 2;
      }
      if (s.glare > 0) {
        const away = ((dx - s.glareX * reach) ** 2 + (dy - s.glareY * reach) ** 2) / s.glareWidth ** 2;
        value += s.glare * Math.exp(-away / 2);
      }
      value = s.black + value * s.light + s.noise * normal(random);
      data[i * 4] = data[i * 4 + 1] = data[i * 4 + 2] = value;
      data[i * 4 + 3] = 255;
    }
  }
  return { data, width, height };
}

/** A number of the standard normal distribution, near enough (the sum of three dice, after Irwin and Hall). */
function normal(random: () => number): number {
  return (random() + random() + random() - 1.5) * 2;
}

// The card before a room with some furniture, each pixel gathered from nine points.
function stand(modules: readonly (readonly boolean[])[], s: Scene): Float32Array {
  const side = modules.length;
  const [paper, ink] = s.inverted ? [22, 200] : [225, 8];
  const place = projection(s, side * s.module * 1.8);
  const furthest = side * s.module * 1.2; // no corner of the card is seen further from the middle
  const light = new Float32Array(width * height);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      if (Math.hypot(x - width / 2, y - height / 2) > furthest) {
        light[i] = room(x, y);
        continue;
      }
      let sum = 0;
      for (let point = 0; point < 9; point++) {
        const [u, v] = place(x + ((point % 3) + 0.5) / 3 - width / 2, y + (Math.floor(point / 3) + 0.5) / 3 - height / 2);
        const column = Math.floor(u / s.module + side / 2);
        const row = Math.floor(v / s.module + side / 2);
        const dark = modules[row]?.[column];
        sum += dark === undefined ? room(x, y) : dark ? ink : paper;
      }
      light[i] = sum / 9;
    }
  }
  return light;
}

// From the picture's plane back to the card's, both in pixels from the middle,
// for an eye at that distance.
function projection(s: Scene, distance: number): (x: number, y: number) => readonly [number, number] {
  const turn = radians(s.turned);
  const lean = radians(s.leant);
  const nod = radians(s.nodding);
  // The card's axes in space: turned in its plane, then about the upright and the level axis.
  const axis = (x: number, y: number) => {
    const [a, b] = [x * Math.cos(turn) - y * Math.sin(turn), x * Math.sin(turn) + y * Math.cos(turn)];
    const [c, depth] = [a * Math.cos(lean), a * Math.sin(lean)];
    return { x: c, y: b * Math.cos(nod) - depth * Math.sin(nod), z: b * Math.sin(nod) + depth * Math.cos(nod) };
  };
  const [p, q] = [axis(1, 0), axis(0, 1)];
  return (x, y) => {
    // u p + v q = t (x, y, distance) - (0, 0, distance), for the two unknowns in the card's plane.
    const [a, b] = [p.x - (x * p.z) / distance, q.x - (x * q.z) / distance];
    const [c, d] = [p.y - (y * p.z) / distance, q.y - (y * q.z) / distance];
    const determinant = a * d - b * c;
    return [(x * d - b * y) / determinant, (a * y - x * c) / determinant];
  };
}

// A door, a window and a floor of boards.
function room(x: number, y: number): number {
  if (y > 560) return 70 + (x % 96 < 3 ? -30 : 0);
  if (x > 980 && x < 1200 && y > 80 && y < 330) return 190 + (x % 110 < 6 ? -140 : 0);
  if (x > 60 && x < 250 && y > 130) return 105;
  return 130;
}

// The lens, then the movement.
function blur(picture: Float32Array, s: Scene): Float32Array {
  const radius = Math.ceil(3 * s.blur);
  const weights: number[] = [];
  for (let i = -radius; i <= radius; i++) weights.push(Math.exp((-i * i) / (2 * s.blur * s.blur)));
  let seen = convolve(picture, weights, 1, 0);
  seen = convolve(seen, weights, 0, 1);
  if (s.moved === 0) return seen;
  const steps = Math.max(2, Math.round(s.moved));
  const angle = radians(s.heading);
  return convolve(seen, Array.from({ length: steps }, () => 1), Math.cos(angle), Math.sin(angle));
}

// A weighted sum along one direction; the edges repeat.
function convolve(from: Float32Array, weights: readonly number[], dx: number, dy: number): Float32Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const middle = (weights.length - 1) / 2;
  const steps = weights.map((weight, k) => ({ weight: weight / total, right: Math.round(dx * (k - middle)), down: Math.round(dy * (k - middle)) }));
  const to = new Float32Array(from.length);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      let sum = 0;
      for (const { weight, right, down } of steps) {
        const column = Math.min(Math.max(x + right, 0), width - 1);
        const row = Math.min(Math.max(y + down, 0), height - 1);
        sum += weight * (from[row * width + column] ?? 0);
      }
      to[i] = sum;
    }
  }
  return to;
}
