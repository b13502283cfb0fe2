// A pack: what a gate device may know of the tickets of its venue, to decide
// without network. This is its form on the wire, and how it is checked: lines of
// JSON, of which the last carries the digest of all before it, signed by the issuer.

import { b64u, bytesOf, fromB64u, sha256, utf8, type Bytes } from "../proof/bytes.js";
import { importPublicKey } from "../proof/keys.js";
import { keyHeader } from "../proof/templates.js";

/** A public key of the issuer; `kid` is what paper codes and packs name it by. */
export interface IssuerKey {
  readonly kid: string;
  readonly x: string;
  readonly y: string;
}

/** The first line, as it is sent and kept. Times are RFC 3339; `since` is the serial that a delta builds on, empty for a whole pack. */
export interface Head {
  /** The version of the form. */
  readonly pack: 1;
  readonly gate: string;
  readonly venue: string;
  readonly zone: string;
  readonly serial: string;
  readonly since: string;
  readonly made_at: string;
  /** What this device makes its own nonces from: a secret. */
  readonly seed: string;
  readonly issuer_keys: readonly IssuerKey[];
  readonly gates: readonly { readonly id: string; readonly name: string }[];
  readonly events: readonly WireEvent[];
}

interface WireEvent {
  readonly id: string;
  readonly name: string;
  readonly screen?: string;
  readonly doors_open_at: string;
  readonly starts_at: string;
  readonly ends_at: string;
  readonly reentry: boolean;
  readonly freshness: "live" | "assisted" | "open";
  readonly rescan: "strict" | "show_time" | "recover";
  readonly rescan_window_seconds: number;
  readonly offline: "off" | "own_gate" | "any";
  readonly categories: readonly WireCategory[];
}

interface WireCategory {
  readonly id: string;
  readonly name: string;
  readonly gates: readonly string[];
  readonly paper: boolean;
  readonly valid_from: string | null;
  readonly valid_until: string | null;
}

/** An event as the decision needs it: times in Unix milliseconds, `rescan_window` in milliseconds. */
export interface PackEvent extends Pick<WireEvent, "id" | "name" | "reentry" | "freshness" | "rescan" | "offline"> {
  readonly screen: string;
  readonly doors_open_at: number;
  readonly starts_at: number;
  readonly ends_at: number;
  readonly rescan_window: number;
  readonly categories: readonly PackCategory[];
}

/** A category; without gates it is of every gate of the venue. */
export interface PackCategory extends Pick<WireCategory, "id" | "name" | "gates" | "paper"> {
  readonly valid_from: number | null;
  readonly valid_until: number | null;
}

/** A ticket. `key` is x‖y of its phone in base64url, empty for paper, null when nobody has claimed it. */
export interface PackTicket {
  readonly generation: number;
  readonly key: string | null;
  readonly event: number;
  readonly category: number;
  /** Active, used, held, revoked. */
  readonly status: "a" | "u" | "h" | "r";
  readonly admits: number;
  readonly extra: number;
  readonly entries: number;
  readonly inside: number;
  readonly number: number;
  readonly seat: string;
}

/** One answer of the server: a part of a pack. `after` asks for the next part and is empty in the last. */
export interface Part {
  readonly head: Head;
  /** The ticket lines, each with its newline. */
  readonly rows: string;
  readonly after: string;
}

/** A part that is not what the issuer signed, or not for this gate. Nothing of it is kept. */
export class BadPack extends Error {
  override readonly name = "BadPack";
}

interface Tail {
  readonly rows: number;
  readonly after: string;
  readonly digest: string;
  readonly jws: string;
}

const newline = 10;

/** Reads a part and checks its digest and signature; `key` finds an issuer's key that is trusted. Rejects with BadPack. */
export async function readPart(bytes: Bytes, gate: string, key: (kid: string, head: Head) => Promise<IssuerKey | undefined>): Promise<Part> {
  const end = bytes.length > 0 && bytes[bytes.length - 1] === newline ? bytes.length - 1 : bytes.length;
  const last = bytes.lastIndexOf(newline, end - 1) + 1;
  const body = bytes.subarray(0, last);
  const first = body.indexOf(newline) + 1;
  if (first === 0) throw new BadPack("it has no lines");
  const tail = parse<Tail>(decode(bytes.subarray(last, end)));
  if (b64u(await sha256(body)) !== tail.digest) throw new BadPack("its digest is another one");
  const head = parse<Head>(decode(body.subarray(0, first)));
  if (head.pack !== 1) throw new BadPack("it has another form");
  await checkSignature(tail, head, gate, key);
  const rows = decode(body.subarray(first));
  if (rows.split("\n").length - 1 !== tail.rows) throw new BadPack("it has another number of rows");
  return { head, rows, after: tail.after };
}

function decode(bytes: Bytes): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new BadPack("it is no text");
  }
}

function parse<T extends object>(line: string): T {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return value as T;
  } catch {
    // Said below, without the text.
  }
  throw new BadPack("a line is no object");
}

async function checkSignature(tail: Tail, head: Head, gate: string, find: (kid: string, head: Head) => Promise<IssuerKey | undefined>): Promise<void> {
  const [header = "", payload = "", signature = "", ...rest] = tail.jws.split(".");
  const kid = /^\{"alg":"ES256","kid":"([\w-]{6})"/.exec(text(header))?.[1] ?? "";
  const signed = fromB64u(signature, 64);
  if (rest.length > 0 || signed === undefined || text(header) !== keyHeader(kid, "pack+jwt")) throw new BadPack("its signature has another form");
  const issuer = await find(kid, head);
  if (issuer === undefined) throw new BadPack("its signer is unknown");
  const good = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, await importIssuerKey(issuer), signed, utf8(`${header}.${payload}`));
  if (!good) throw new BadPack("its signature is not good");
  const claims = parse<Record<string, unknown>>(text(payload));
  const same = claims["digest"] === tail.digest && claims["serial"] === head.serial && claims["made_at"] === head.made_at;
  if (!same || claims["gate"] !== gate || head.gate !== gate) throw new BadPack("it is for something else");
}

function text(part: string): string {
  return new TextDecoder().decode(fromB64u(part));
}

/** An issuer's key for WebCrypto; rejects when it is no point of the curve. */
export function importIssuerKey({ x, y }: IssuerKey): Promise<CryptoKey> {
  const [left, right] = [fromB64u(x, 32), fromB64u(y, 32)];
  if (left === undefined || right === undefined) return Promise.reject(new BadPack("a key has another form"));
  const raw = new Uint8Array(64);
  raw.set(left);
  raw.set(right, 32);
  return importPublicKey(raw);
}

/** The events of a head as the decision needs them. */
export function eventsOf({ events }: Head): readonly PackEvent[] {
  const time = (at: string | null) => (at === null ? null : Date.parse(at));
  return events.map(({ rescan_window_seconds, ...event }) => ({
    ...event,
    screen: event.screen ?? "",
    doors_open_at: Date.parse(event.doors_open_at),
    starts_at: Date.parse(event.starts_at),
    ends_at: Date.parse(event.ends_at),
    rescan_window: rescan_window_seconds * 1000,
    categories: event.categories.map((category) => ({ ...category, valid_from: time(category.valid_from), valid_until: time(category.valid_until) })),
  }));
}

type Row = [id: string, generation: number, key: string | null, event: number, category: number, status: PackTicket["status"], people: number, entries: number, inside: number, number: number, seat: string, extra?: number];

/** Where the 22 characters of a ticket's id are in its line: after `["`. */
const idFrom = 2;
const idTo = 24;

/**
 * The tickets of a pack, by id. Lines are read when they are asked for: of 50,000
 * tickets an evening's gate asks for a few hundred. A later line of a ticket
 * replaces the earlier, which is how a delta is applied.
 */
export class Tickets {
  readonly #texts: string[] = [];
  readonly #lines = new Map<string, readonly [text: number, at: number]>();

  get size(): number {
    return this.#lines.size;
  }

  add(rows: string): void {
    const text = this.#texts.push(rows) - 1;
    for (let at = 0; at < rows.length; at = rows.indexOf("\n", at) + 1) {
      this.#lines.set(rows.slice(at + idFrom, at + idTo), [text, at]);
    }
  }

  find(ticket: string): PackTicket | undefined {
    const line = this.#line(b64u(bytesOf(ticket)));
    if (line === undefined) return undefined;
    const [, generation, key, event, category, status, people, entries, inside, number, seat, extra = 0] = JSON.parse(line) as Row;
    return { generation, key, event, category, status, admits: people - extra, extra, entries, inside, number, seat };
  }

  #line(id: string): string | undefined {
    const [text = 0, at] = this.#lines.get(id) ?? [];
    const rows = this.#texts[text];
    return rows === undefined || at === undefined ? undefined : rows.slice(at, rows.indexOf("\n", at));
  }

  /** The lines that count, of those texts only that were added after the first `texts`: deltas made one. */
  latest(texts: number): string {
    const lines = [...this.#lines.values()].filter(([text]) => text >= texts);
    return lines.map(([text, at]) => this.#texts[text]?.slice(at, (this.#texts[text]?.indexOf("\n", at) ?? 0) + 1) ?? "").join("");
  }
}
