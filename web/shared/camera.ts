// The camera: asked for once, read at most fifteen times a second, started
// again when its track ends, and at rest when nobody has come for a minute.

import type { Reader } from "./decode.js";

/** `resting` wakes by a tap; `denied` and `none` leave typing. */
export type CameraState = "off" | "starting" | "live" | "resting" | "denied" | "none" | "failed";

/** Milliseconds between frames while people come, and when nobody has for a while. */
const busyEvery = 67;
const idleEvery = 120;
const idleAfter = 10_000;

/** Without a code for this many milliseconds the camera rests. */
export const restAfter = 60_000;

/** A camera that ended by itself is started again so many times in a row. */
const restarts = 5;

export class Camera {
  readonly #video: HTMLVideoElement;
  readonly #reader: Promise<Reader>;
  readonly #saw: (texts: readonly string[]) => void;
  readonly #changed: (state: CameraState) => void;
  #state: CameraState = "off";
  #stream: MediaStream | undefined;
  #turn = 0;
  #lastCode = 0;
  #ended = 0;

  constructor(video: HTMLVideoElement, reader: Promise<Reader>, saw: (texts: readonly string[]) => void, changed: (state: CameraState) => void) {
    this.#video = video;
    this.#reader = reader;
    this.#saw = saw;
    this.#changed = changed;
  }

  get state(): CameraState {
    return this.#state;
  }

  /** Starts or wakes the camera. Resolves when it is live or cannot be. */
  async start(): Promise<void> {
    const turn = ++this.#turn;
    this.#end();
    this.#to("starting");
    try {
      const stream = await open();
      if (turn !== this.#turn) return stop(stream);
      this.#stream = stream;
      this.#watch(stream, turn);
      this.#video.srcObject = stream;
      await this.#video.play();
      if (turn !== this.#turn) return;
      this.#lastCode = performance.now();
      this.#to("live");
      void this.#loop(turn);
    } catch (error) {
      if (turn === this.#turn) this.#failed(error);
    }
  }

  /** Gives the camera back. */
  stop(state: "off" | "resting" = "off"): void {
    this.#turn++;
    this.#end();
    this.#to(state);
  }

  /** Somebody is at work: no rest for the next minute. */
  touch(): void {
    this.#lastCode = performance.now();
  }

  #end(): void {
    if (this.#stream !== undefined) stop(this.#stream);
    this.#stream = undefined;
    this.#video.srcObject = null;
  }

  // Another program, a phone call or a pulled plug ends a track.
  #watch(stream: MediaStream, turn: number): void {
    for (const track of stream.getVideoTracks()) {
      track.addEventListener("ended", () => {
        if (turn !== this.#turn) return;
        if (this.#ended++ < restarts) void this.start();
        else this.#failed(undefined);
      });
    }
  }

  async #loop(turn: number): Promise<void> {
    const reader = await this.#reader;
    while (turn === this.#turn) {
      const began = performance.now();
      if (began - this.#lastCode > restAfter) return this.stop("resting");
      const texts = this.#video.videoWidth > 0 ? await reader.read(this.#video).catch(() => []) : [];
      if (turn !== this.#turn) return;
      if (texts.length > 0) {
        this.#lastCode = performance.now();
        this.#ended = 0;
        this.#saw(texts);
      }
      const every = began - this.#lastCode > idleAfter ? idleEvery : busyEvery;
      await pause(Math.max(0, every - (performance.now() - began)));
    }
  }

  #failed(error: unknown): void {
    this.#turn++;
    this.#end();
    const name = error instanceof DOMException ? error.name : "";
    if (name === "NotAllowedError" || name === "SecurityError") this.#to("denied");
    else if (name === "NotFoundError" || error instanceof NoCamera) this.#to("none");
    else this.#to("failed");
  }

  #to(state: CameraState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#changed(state);
  }
}

class NoCamera extends Error {}

async function open(): Promise<MediaStream> {
  // Absent on pages that are not served securely.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  if (devices === undefined) throw new NoCamera();
  return devices.getUserMedia({
    audio: false,
    video: { facingMode: { ideal: "environment" }, width: { ideal: 1280 }, height: { ideal: 720 } },
  });
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
