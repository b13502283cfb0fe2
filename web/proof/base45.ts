// Base45 (RFC 9285), so that QR codes use their alphanumeric mode.

/** RFC 9285, section 4.2. It contains the space: a code is never trimmed inside. */
export const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";

/** Three characters for two bytes, two for a last single one, least significant first. */
export function encode(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 2) {
    const pair = i + 1 < bytes.length;
    const value = pair ? (bytes[i] ?? 0) * 256 + (bytes[i + 1] ?? 0) : (bytes[i] ?? 0);
    text += alphabet.charAt(value % 45) + alphabet.charAt(Math.floor(value / 45) % 45);
    if (pair) text += alphabet.charAt(Math.floor(value / 2025));
  }
  return text;
}

/** The strict inverse: undefined for foreign characters, impossible lengths and groups that are too large (RFC 9285, section 6). */
export function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 3 === 1) return undefined;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i += 3) {
    const group = text.slice(i, i + 3);
    let value = 0;
    for (const char of [...group].reverse()) {
      const digit = alphabet.indexOf(char);
      if (digit < 0) return undefined;
      value = value * 45 + digit;
    }
    if (group.length === 3 && value <= 0xffff) bytes.push(value >> 8, value & 0xff);
    else if (group.length === 2 && value <= 0xff) bytes.push(value);
    else return undefined;
  }
  return Uint8Array.from(bytes);
}
