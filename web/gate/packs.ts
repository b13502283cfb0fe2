// Getting a gate's pack and keeping it fresh: whole at first, part by part, then by
// deltas. Each part is checked before it is kept, and a pull that was cut goes on
// where it ended. It knows no HTTP: fetching is given to it.

import { Problem } from "../shared/api.js";
import type { Bytes } from "../proof/bytes.js";
import type { Kept, PartRows } from "./alonestore.js";
import { BadPack, eventsOf, readPart, Tickets, type Head, type IssuerKey, type PackEvent, type Part } from "./pack.js";

/** What packs need from around them. */
export interface PackSurroundings {
  fetch(gate: string, since: string, after: string): Promise<Bytes>;
  /** The issuer's public keys as the server publishes them now. */
  keys(): Promise<readonly IssuerKey[]>;
  readonly shelf: PackShelf;
}

/** Where packs are kept: see AloneStore. */
export interface PackShelf {
  pack(gate: string): Promise<Kept | undefined>;
  parts(set: string): Promise<readonly string[]>;
  forget(gate: string): Promise<void>;
  write(kept: Kept, puts: readonly PartRows[], drops?: readonly { set: string; from?: number }[]): Promise<void>;
}

/** A pack as a gate decides by it. */
export interface Pack {
  readonly head: Head;
  readonly events: readonly PackEvent[];
  readonly tickets: Tickets;
}

/** So many deltas become one. */
const tooManyDeltas = 40;

export class Packs {
  readonly #around: PackSurroundings;
  readonly #gate: string;
  #kept: Kept;
  #tickets = new Tickets();
  #pack: Pack | undefined;
  #pulling: Promise<Pack> | undefined;
  /** The rows of the pull under way, as far as this page has seen them. */
  #rows: string[] = [];
  #stopped = false;
  /** The last delta was not good: the next pull is of the whole. */
  #whole = false;

  private constructor(around: PackSurroundings, gate: string, kept: Kept) {
    this.#around = around;
    this.#gate = gate;
    this.#kept = kept;
  }

  /** Takes up what is kept of a gate's pack. */
  static async open(around: PackSurroundings, gate: string): Promise<Packs> {
    const packs = new Packs(around, gate, (await around.shelf.pack(gate)) ?? { gate, trusted: [] });
    const { now } = packs.#kept;
    if (now !== undefined) {
      const parts = await around.shelf.parts(now.set);
      // A store that lost a part has no pack.
      if (parts.length === now.parts) packs.#use(now.head, parts);
      else packs.#kept = { gate, trusted: packs.#kept.trusted };
    }
    return packs;
  }

  get pack(): Pack | undefined {
    return this.#pack;
  }

  /** Gets what is new; two calls at once are one pull. Rejects as the call does, or with BadPack; what there was stays. */
  pull(): Promise<Pack> {
    return (this.#pulling ??= this.#pull().finally(() => (this.#pulling = undefined)));
  }

  /** Forgets a pack whose events are over; the issuer's keys stay known while the page lives. */
  async forget(): Promise<void> {
    if (this.#pulling !== undefined) return;
    this.#kept = { gate: this.#gate, trusted: this.#kept.trusted };
    this.#pack = undefined;
    this.#tickets = new Tickets();
    this.#rows = [];
    await this.#around.shelf.forget(this.#gate);
  }

  /** Nothing is written any more: the packs are being forgotten. */
  stop(): void {
    this.#stopped = true;
  }

  async #pull(): Promise<Pack> {
    try {
      for (;;) {
        const part = await this.#next();
        const pack = await this.#take(part);
        if (pack !== undefined) return pack;
      }
    } catch (error) {
      if (error instanceof BadPack) this.#whole = true;
      // What the server does not know any more, or was not good, is begun anew.
      if (error instanceof BadPack || (error instanceof Problem && error.status < 500)) await this.#unstage();
      throw error;
    }
  }

  async #next(): Promise<Part> {
    const { staged, now } = this.#kept;
    const since = staged?.head.since ?? (this.#whole ? "" : (now?.head.serial ?? ""));
    const part = await readPart(await this.#around.fetch(this.#gate, since, staged?.after ?? ""), this.#gate, (kid, head) => this.#key(kid, head));
    if (part.head.since !== "" && part.head.since !== now?.head.serial) throw new BadPack("it builds on another one");
    if (staged !== undefined && part.head.since !== staged.head.since) throw new BadPack("it goes on with another one");
    if (part.head.since !== "" && now !== undefined && shape(part.head) !== shape(now.head)) throw new BadPack("its events are others");
    return part;
  }

  /** The key of a part: one that is trusted. The first pack brings its own, over the same connection as the page. */
  async #key(kid: string, head: Head): Promise<IssuerKey | undefined> {
    const named = (keys: readonly IssuerKey[]) => keys.find((key) => key.kid === kid);
    if (this.#kept.trusted.length === 0) return named(head.issuer_keys);
    return named(this.#kept.trusted) ?? named(await this.#around.keys());
  }

  /** Keeps a part; the last one makes the pack. */
  async #take({ head, rows, after }: Part): Promise<Pack | undefined> {
    if (this.#stopped) throw new BadPack("nobody wants it any more");
    const { staged } = this.#kept;
    const set = staged?.set ?? crypto.randomUUID();
    const n = staged?.parts ?? 0;
    // The first part's serial and time are the whole's: later parts may only know more.
    const first = staged?.head ?? head;
    if (after !== "") {
      if (after === staged?.after) throw new BadPack("it does not come to an end");
      this.#kept = { ...this.#kept, staged: { set, head: first, parts: n + 1, after } };
      if (this.#rows.push(rows) !== n + 1) this.#rows = [];
      await this.#around.shelf.write(this.#kept, [{ set, n, rows }]);
      return undefined;
    }
    const parts = [...(await this.#staged(set, n)), rows];
    this.#whole = false;
    this.#rows = [];
    return first.since === "" ? this.#replace(first, set, parts) : this.#add(first, set, parts);
  }

  /** The parts so far: an earlier page may have got them. */
  async #staged(set: string, n: number): Promise<readonly string[]> {
    if (this.#rows.length === n) return this.#rows;
    const parts = await this.#around.shelf.parts(set);
    if (parts.length !== n) throw new BadPack("a part of it was not kept");
    return parts;
  }

  async #replace(head: Head, set: string, parts: readonly string[]): Promise<Pack> {
    const before = this.#kept.now?.set;
    const n = parts.length;
    this.#kept = { gate: this.#gate, trusted: head.issuer_keys, now: { set, head, whole: n, parts: n } };
    await this.#around.shelf.write(this.#kept, [{ set, n: n - 1, rows: parts[n - 1] ?? "" }], before === undefined ? [] : [{ set: before }]);
    return this.#use(head, parts);
  }

  async #add(head: Head, staged: string, parts: readonly string[]): Promise<Pack> {
    const { now } = this.#kept;
    if (now === undefined) throw new BadPack("it builds on another one");
    for (const rows of parts) this.#tickets.add(rows);
    const rows = parts.filter((part) => part !== "");
    const { set, whole } = now;
    const one = now.parts + rows.length - whole > tooManyDeltas;
    const from = one ? whole : now.parts;
    const puts = (one ? [this.#tickets.latest(whole)] : rows).map((text, i) => ({ set, n: from + i, rows: text }));
    this.#kept = { gate: this.#gate, trusted: head.issuer_keys, now: { set, head: { ...head, since: "" }, whole, parts: from + puts.length } };
    await this.#around.shelf.write(this.#kept, puts, [{ set: staged }, ...(one ? [{ set, from }] : [])]);
    return this.#pack = { head, events: eventsOf(head), tickets: this.#tickets };
  }

  async #unstage(): Promise<void> {
    const { staged, ...rest } = this.#kept;
    this.#kept = rest;
    this.#rows = [];
    if (staged !== undefined && !this.#stopped) await this.#around.shelf.write(rest, [], [{ set: staged.set }]);
  }

  #use(head: Head, parts: readonly string[]): Pack {
    this.#tickets = new Tickets();
    for (const rows of parts) this.#tickets.add(rows);
    return this.#pack = { head, events: eventsOf(head), tickets: this.#tickets };
  }
}

/** What the numbers in ticket lines point at. */
function shape({ events }: Head): string {
  return JSON.stringify(events.map(({ id, categories }) => [id, categories.map((category) => category.id)]));
}
