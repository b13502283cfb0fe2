// The camera: asked for once, read at most fifteen times a second, started
// again when its track ends, and at rest when nobody has come for a minute.

import type { Reader } from "./decode.js";

/** `resting` wakes by a tap; `denied` and `none` leave typing. */
export type CameraState = "off" | "starting" | "live" | "resting" | "denied" | "none" | "failed";

/** What the camera at work can do besides: whether there are others, and whether its light is on; no light without a word of it. */
export interface Optics {
  readonly others: boolean;
  readonly light?: boolean;
}

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
  #chosen: string | undefined;
  #optics: Optics = { others: false };

  constructor(video: HTMLVideoElement, reader: Promise<Reader>, saw: (texts: readonly string[]) => void, changed: (state: CameraState) => void) {
    this.#video = video;
    this.#reader = reader;
    this.#saw = saw;
    this.#changed = changed;
  }

  get state(): CameraState {
    return this.#state;
  }

  get optics(): Optics {
    return this.#optics;
  }

  /** Asks for the camera with this id from now on, as long as it is there. */
  prefer(id: string | undefined): void {
    this.#chosen = id;
  }

  /** Goes on with the next of the cameras. Gives its id, to be asked for the next time. */
  async another(): Promise<string | undefined> {
    const ids = await cameras();
    const now = ids.indexOf(this.#track()?.getSettings().deviceId ?? "");
    if (ids.length < 2) return undefined;
    this.#chosen = ids[(now + 1) % ids.length];
    await this.start();
    return this.#chosen;
  }

  /** Turns the camera's light on or off, where it has one. */
  async light(on: boolean): Promise<void> {
    const turn = this.#turn;
    try {
      const light: MediaTrackConstraintSet & { readonly torch: boolean } = { torch: on };
      await this.#track()?.applyConstraints({ advanced: [light] });
    } catch {
      return; // the button stays as it was, and so did the light
    }
    if (turn === this.#turn) this.#sees({ ...this.#optics, light: on });
  }

  #track(): MediaStreamTrack | undefined {
    return this.#stream?.getVideoTracks()[0];
  }

  #sees(optics: Optics): void {
    this.#optics = optics;
    this.#changed(this.#state);
  }

  // Names and number of the cameras are told once the camera may be used.
  async #look(turn: number): Promise<void> {
    const others = (await cameras()).length > 1;
    // Some browsers do not tell what a track can do.
    const can = this.#track()?.getCapabilities?.() as { readonly torch?: boolean } | undefined;
    if (turn === this.#turn) this.#sees({ others, ...(can?.torch === true && { light: false }) });
  }

  /** Starts or wakes the camera. Resolves when it is live or cannot be. */
  async start(): Promise<void> {
    const turn = ++this.#turn;
    this.#end();
    this.#to("starting");
    try {
      const stream = await open(this.#chosen);
      if (turn !== this.#turn) return stop(stream);
      this.#stream = stream;
      this.#watch(stream, turn);
      this.#video.srcObject = stream;
      await this.#video.play();
      if (turn !== this.#turn) return;
      this.#lastCode = performance.now();
      this.#to("live");
      void this.#look(turn);
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

/** The ids of all cameras. */
async function cameras(): Promise<readonly string[]> {
  const media = navigator.mediaDevices as MediaDevices | undefined;
  const devices = (await media?.enumerateDevices().catch(() => [])) ?? [];
  return devices.filter(({ kind, deviceId }) => kind === "videoinput" && deviceId !== "").map(({ deviceId }) => deviceId);
}

async function open(chosen: string | undefined): Promise<MediaStream> {
  // Absent on pages that are not served securely.
  const devices = navigator.mediaDevices as MediaDevices | undefined;
  if (devices === undefined) throw new NoCamera();
  const size = { width: { ideal: 1280 }, height: { ideal: 720 } };
  const any = () => devices.getUserMedia({ audio: false, video: { facingMode: { ideal: "environment" }, ...size } });
  if (chosen === undefined) return any();
  // A mere wish would be weighed against the size. A camera that is not there any more is not insisted on.
  return devices.getUserMedia({ audio: false, video: { deviceId: { exact: chosen }, ...size } }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "NotAllowedError") throw error;
    return any();
  });
}

function stop(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
