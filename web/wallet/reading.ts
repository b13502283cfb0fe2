// Reading a gate's code with the phone's camera. Loaded when it is first asked
// for: most guests never need it.

import { b64u } from "../proof/bytes.js";
import { parseGateCode, refused } from "../proof/parse.js";
import { Camera, type CameraState } from "../shared/camera.js";
import { chooseReader } from "../shared/decode.js";

/** What a gate's code asks to sign: base64url of 16 bytes, accepted for so many seconds from when it was made. */
export interface Read {
  readonly nonce: string;
  readonly accepted_for: number;
}

/** A gate's code that was read, or undefined for a text that is none. */
export function read(text: string): Read | undefined {
  const code = parseGateCode(text);
  return refused(code) ? undefined : { nonce: b64u(code.nonce), accepted_for: code.accepted_for };
}

/** Looks through the camera into `video` until a gate's code is seen; `other` hears of codes that are none. */
export function look(video: HTMLVideoElement, found: (code: Read) => void, other: () => void, changed: (state: CameraState) => void): Camera {
  const camera = new Camera(
    video,
    chooseReader(),
    (texts) => {
      const codes = texts.map(read).filter((code) => code !== undefined);
      if (codes[0] !== undefined) found(codes[0]);
      else other();
    },
    changed,
  );
  void camera.start();
  return camera;
}

export type { Camera, CameraState };
