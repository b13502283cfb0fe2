// The nonces that a gate device makes by itself, for phones to sign at this device
// only: the server makes the same ones from the same seed and believes no others.

import { concat, utf8, type Bytes } from "../proof/bytes.js";

/** Milliseconds that one is shown. */
const step = 15_000;

/** A nonce is accepted in its own step and in so many after it. */
const after = 3;

/** Older ones are known for so many steps, so that they are called old and not foreign. */
const remembered = 40;

export class OwnNonces {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** Of a device's seed, 32 bytes. */
  static async from(seed: Bytes): Promise<OwnNonces> {
    return new OwnNonces(await crypto.subtle.importKey("raw", seed, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]));
  }

  /** The nonce of a time in Unix milliseconds of this device's own clock. */
  now(at: number): Promise<Bytes> {
    return this.#of(Math.floor(at / step));
  }

  /** When the nonce was made, by the same clock; undefined for one that this device did not make lately. One that is not accepted any more was made at time 0. */
  async madeAt(nonce: Bytes, now: number): Promise<number | undefined> {
    const current = Math.floor(now / step);
    for (let back = 0; back <= remembered; back++) {
      const own = await this.#of(current - back);
      if (own.every((byte, i) => byte === nonce[i])) return back <= after ? (current - back) * step : 0;
    }
    return undefined;
  }

  /** The first 16 bytes of HMAC-SHA-256(seed, "portillon shown" ‖ uint64 step). */
  async #of(at: number): Promise<Bytes> {
    const counter = new Uint8Array(8);
    new DataView(counter.buffer).setBigUint64(0, BigInt(at));
    return new Uint8Array(await crypto.subtle.sign("HMAC", this.#key, concat(utf8("portillon shown"), counter))).slice(0, 16);
  }
}
