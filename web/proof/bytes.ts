// Bytes and their spellings. Every reader here is strict: a text that is read
// is the one that the writer would have written.

/** Bytes that WebCrypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

/** UTF-8 of a text. */
export function utf8(text: string): Bytes {
  return encoder.encode(text);
}

/** One array of several. */
export function concat(...parts: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Base64url without padding (RFC 4648, section 5). */
export function b64u(bytes: Uint8Array): string {
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Reads base64url in its one spelling; undefined for any other, and for a length other than `length` bytes if that is given. */
export function fromB64u(text: string, length?: number): Bytes | undefined {
  // The rest first: atob forgives white space, padding and stray bits.
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
  if (b64u(bytes) !== text) return undefined;
  return length === undefined || bytes.length === length ? bytes : undefined;
}

/** The text of a UUID from its 16 bytes. */
export function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}

/** The 16 bytes of a UUID; throws a TypeError for anything else. */
export function bytesOf(uuid: string): Bytes {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) throw new TypeError("not a UUID");
  const hex = uuid.replaceAll("-", "");
  return Uint8Array.from({ length: 16 }, (_, i) => parseInt(hex.slice(2 * i, 2 * i + 2), 16));
}

/** Big-endian uint32; throws a RangeError for a number that is none. */
export function uint32(value: number): Bytes {
  if (!isUint32(value)) throw new RangeError("not a uint32");
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

export function isUint32(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}

/** SHA-256 of bytes, or of a text's UTF-8. */
export async function sha256(data: Bytes | string): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", typeof data === "string" ? utf8(data) : data));
}
