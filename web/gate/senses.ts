// Answers for ear and hand: four sounds and four vibrations that cannot be
// taken for one another, and a tick for "seen, nothing new". Where a browser
// has neither, colour, shape and word remain.

import type { Class } from "./answers.js";

/** A tone: its start and length in seconds, its pitch in hertz. */
export interface Tone {
  readonly at: number;
  readonly lasts: number;
  readonly hertz: number;
  readonly wave: OscillatorType;
}

/** Rising for in, level for a question, low and long for no, one soft note for once more. */
export const sounds: Readonly<Record<Class, readonly Tone[]>> = {
  admit: [
    { at: 0, lasts: 0.09, hertz: 784, wave: "sine" },
    { at: 0.1, lasts: 0.2, hertz: 1175, wave: "sine" },
  ],
  ask: [
    { at: 0, lasts: 0.13, hertz: 587, wave: "triangle" },
    { at: 0.2, lasts: 0.13, hertz: 587, wave: "triangle" },
    { at: 0.4, lasts: 0.13, hertz: 587, wave: "triangle" },
  ],
  refuse: [
    { at: 0, lasts: 0.28, hertz: 220, wave: "sawtooth" },
    { at: 0.3, lasts: 0.45, hertz: 147, wave: "sawtooth" },
  ],
  again: [{ at: 0, lasts: 0.22, hertz: 392, wave: "sine" }],
};

const tick: readonly Tone[] = [{ at: 0, lasts: 0.03, hertz: 1568, wave: "square" }];

/** Milliseconds on, off, on … */
export const vibrations: Readonly<Record<Class, readonly number[]>> = {
  admit: [80],
  ask: [120, 90, 120, 90, 120],
  refuse: [500],
  again: [40, 60, 40],
};

/** Seconds between the sounds when all four are played. */
const apart = 0.9;

/** How long all four take, in milliseconds. */
export const allFour = 4 * apart * 1000;

export class Senses {
  #audio: AudioContext | undefined;
  #volume: GainNode | undefined;

  /** Must be called inside a gesture: browsers play nothing before one. */
  unlock(): void {
    try {
      if (this.#audio === undefined) {
        this.#audio = new AudioContext({ latencyHint: "interactive" });
        this.#volume = this.#audio.createGain();
        this.#volume.gain.value = 0.5;
        this.#volume.connect(this.#audio.destination);
      }
      void this.#audio.resume().catch(() => undefined);
    } catch {
      this.#audio = undefined;
    }
  }

  /** Plays the four sounds once, one after the other, so that staff know them and see that the volume is up. */
  playAll(): void {
    for (const [i, cls] of (["admit", "ask", "refuse", "again"] as const).entries()) this.#play(sounds[cls], i * apart);
  }

  answer(cls: Class): void {
    this.#play(sounds[cls], 0);
    this.#vibrate(vibrations[cls]);
  }

  /** Seen, and answered before. */
  tick(): void {
    this.#play(tick, 0);
    this.#vibrate([20]);
  }

  #play(tones: readonly Tone[], after: number): void {
    if (this.#audio === undefined || this.#volume === undefined) return;
    if (this.#audio.state === "suspended") void this.#audio.resume().catch(() => undefined);
    const now = this.#audio.currentTime + after;
    for (const tone of tones) {
      const source = this.#audio.createOscillator();
      const shape = this.#audio.createGain();
      source.type = tone.wave;
      source.frequency.value = tone.hertz;
      // Soft edges: a hard start clicks.
      const loud = tone.wave === "sawtooth" || tone.wave === "square" ? 0.4 : 0.9;
      shape.gain.setValueAtTime(0, now + tone.at);
      shape.gain.linearRampToValueAtTime(loud, now + tone.at + 0.008);
      shape.gain.setValueAtTime(loud, now + tone.at + tone.lasts * 0.7);
      shape.gain.linearRampToValueAtTime(0, now + tone.at + tone.lasts);
      source.connect(shape).connect(this.#volume);
      source.start(now + tone.at);
      source.stop(now + tone.at + tone.lasts + 0.02);
    }
  }

  #vibrate(pattern: readonly number[]): void {
    const able = navigator as { vibrate?: (pattern: number[]) => boolean };
    try {
      able.vibrate?.([...pattern]);
    } catch {
      // Some browsers throw where others say false.
    }
  }
}

/** Keeps the screen on while people are scanned. */
export class Awake {
  #lock: WakeLockSentinel | undefined;
  #wanted = false;

  /** Asks for or gives back the lock; browsers drop it by themselves when the page is hidden. */
  async want(wanted: boolean): Promise<void> {
    this.#wanted = wanted;
    if (!wanted) {
      await this.#lock?.release().catch(() => undefined);
      this.#lock = undefined;
      return;
    }
    if (this.#lock !== undefined && !this.#lock.released) return;
    const api = (navigator as { wakeLock?: WakeLock }).wakeLock;
    const lock = await api?.request("screen").catch(() => undefined);
    if (this.#wanted) this.#lock = lock;
    else await lock?.release().catch(() => undefined);
  }
}
