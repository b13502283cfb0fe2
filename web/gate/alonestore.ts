// What a gate keeps to work without network, in a database of its own: packs in
// their parts, what it let in by itself, and the scans that the server has not
// judged yet. Where the browser keeps nothing, the page works and forgets.

import { openDB, type DBSchema, type IDBPDatabase } from "idb";
import type { Device } from "./answers.js";
import type { Head, IssuerKey } from "./pack.js";
import type { Upload } from "./uploads.js";
import type { Use } from "./uses.js";

/** What is kept of a gate's pack; its rows are parts of `set`, of which the first `whole` are the pack and the rest deltas. */
export interface Kept {
  readonly gate: string;
  readonly trusted: readonly IssuerKey[];
  readonly now?: { readonly set: string; readonly head: Head; readonly whole: number; readonly parts: number };
  /** A pull that has not ended; `after` asks for its next part. */
  readonly staged?: { readonly set: string; readonly head: Head; readonly parts: number; readonly after: string };
}

/** A part's rows under its place. */
export interface PartRows {
  readonly set: string;
  readonly n: number;
  readonly rows: string;
}

/** Who worked here last, so that a page that was killed can go on. */
export interface LastShift {
  readonly device: Device;
  readonly gate: string;
}

interface Schema extends DBSchema {
  packs: { key: string; value: Kept };
  parts: { key: [string, number]; value: PartRows };
  uploads: { key: string; value: Upload };
  uses: { key: string; value: Use };
  settings: { key: string; value: unknown };
}

/** A wish that goes through even if the machine dies right after. */
const durable = { durability: "strict" } as const;

export class AloneStore {
  readonly #database: IDBPDatabase<Schema> | undefined;

  private constructor(database: IDBPDatabase<Schema> | undefined) {
    this.#database = database;
  }

  static async open(): Promise<AloneStore> {
    try {
      const database = await openDB<Schema>("portillon-gate-alone", 1, {
        upgrade(database) {
          database.createObjectStore("packs", { keyPath: "gate" });
          database.createObjectStore("parts", { keyPath: ["set", "n"] });
          database.createObjectStore("uploads", { keyPath: "id" });
          database.createObjectStore("uses", { keyPath: "key" });
          database.createObjectStore("settings");
        },
      });
      return new AloneStore(database);
    } catch {
      return new AloneStore(undefined);
    }
  }

  async pack(gate: string): Promise<Kept | undefined> {
    return this.#database?.get("packs", gate).catch(nothing);
  }

  /** A set's rows in their order. */
  async parts(set: string): Promise<readonly string[]> {
    const parts = await this.#database?.getAll("parts", ofSet(set)).catch(nothing);
    return (parts ?? []).map(({ rows }) => rows);
  }

  /** Writes what a pull changed at once or not at all: first drops sets (or what follows a part of one), then puts. */
  async write(kept: Kept, puts: readonly PartRows[], drops: readonly { set: string; from?: number }[] = []): Promise<void> {
    if (this.#database === undefined) return;
    const act = this.#database.transaction(["packs", "parts"], "readwrite");
    await Promise.all([
      ...drops.map(({ set, from = 0 }) => act.objectStore("parts").delete(ofSet(set, from))),
      ...puts.map((part) => act.objectStore("parts").put(part)),
      act.objectStore("packs").put(kept),
      act.done,
    ]).catch(nothing);
  }

  /** Forgets every pack; what was let in and what has to be sent stays. */
  async wipe(): Promise<void> {
    if (this.#database === undefined) return;
    const act = this.#database.transaction(["packs", "parts", "settings"], "readwrite");
    await Promise.all([act.objectStore("packs").clear(), act.objectStore("parts").clear(), act.objectStore("settings").delete("shift"), act.done]).catch(nothing);
  }

  /** Forgets the packs whose events are all over at a time in Unix milliseconds. */
  async forgetOver(now: number): Promise<void> {
    for (const { gate, now: kept } of (await this.#database?.getAll("packs").catch(nothing)) ?? []) {
      if (kept !== undefined && kept.head.events.every(({ ends_at }) => Date.parse(ends_at) <= now)) await this.forget(gate);
    }
  }

  /** Forgets a gate's pack. */
  async forget(gate: string): Promise<void> {
    const kept = await this.pack(gate);
    if (this.#database === undefined || kept === undefined) return;
    const act = this.#database.transaction(["packs", "parts"], "readwrite");
    const sets = [kept.now?.set, kept.staged?.set].filter((set) => set !== undefined);
    await Promise.all([act.objectStore("packs").delete(gate), ...sets.map((set) => act.objectStore("parts").delete(ofSet(set))), act.done]).catch(nothing);
  }

  async uses(): Promise<readonly Use[]> {
    return (await this.#database?.getAll("uses").catch(nothing)) ?? [];
  }

  async uploads(): Promise<readonly Upload[]> {
    return (await this.#database?.getAll("uploads").catch(nothing)) ?? [];
  }

  /** Keeps a scan that was decided here, with what it let in, before anybody is told. */
  async putDecided(upload: Upload, use: Use | undefined): Promise<void> {
    if (this.#database === undefined) return;
    const act = this.#database.transaction(["uploads", "uses"], "readwrite", durable);
    await Promise.all([act.objectStore("uploads").put(upload), use && act.objectStore("uses").put(use), act.done]).catch(nothing);
  }

  /** Keeps that uploads have their verdicts, and what became of their uses. */
  async settle(over: readonly string[], changed: readonly Use[], waiting: readonly Upload[]): Promise<void> {
    if (this.#database === undefined) return;
    const act = this.#database.transaction(["uploads", "uses"], "readwrite", durable);
    await Promise.all([
      ...over.map((id) => act.objectStore("uploads").delete(id)),
      ...waiting.map((upload) => act.objectStore("uploads").put(upload)),
      ...changed.map((use) => act.objectStore("uses").put(use)),
      act.done,
    ]).catch(nothing);
  }

  async putUse(use: Use): Promise<void> {
    await this.#database?.put("uses", use).catch(nothing);
  }

  async deleteUses(keys: readonly string[]): Promise<void> {
    if (this.#database === undefined || keys.length === 0) return;
    const act = this.#database.transaction("uses", "readwrite");
    await Promise.all([...keys.map((key) => act.store.delete(key)), act.done]).catch(nothing);
  }

  /** Milliseconds that the server's clock is ahead of this device's. */
  async offset(): Promise<number> {
    return ((await this.#database?.get("settings", "offset").catch(nothing)) as number | undefined) ?? 0;
  }

  setOffset(offset: number): Promise<void> {
    return this.#set("offset", offset);
  }

  async shift(): Promise<LastShift | undefined> {
    return (await this.#database?.get("settings", "shift").catch(nothing)) as LastShift | undefined;
  }

  /** Undefined: nobody works here any more. */
  async setShift(shift: LastShift | undefined): Promise<void> {
    if (shift !== undefined) return this.#set("shift", shift);
    await this.#database?.delete("settings", "shift").catch(nothing);
  }

  /** The credentials of devices that this browser no longer is, for their queues only. */
  async former(): Promise<Readonly<Record<string, string>>> {
    return ((await this.#database?.get("settings", "former").catch(nothing)) as Record<string, string> | undefined) ?? {};
  }

  setFormer(tokens: Readonly<Record<string, string>>): Promise<void> {
    return this.#set("former", tokens);
  }

  async #set(what: string, value: unknown): Promise<void> {
    await this.#database?.put("settings", value, what).catch(nothing);
  }
}

function ofSet(set: string, from = 0): IDBKeyRange {
  return IDBKeyRange.bound([set, from], [set, Number.MAX_SAFE_INTEGER]);
}

// A full or forbidden store must not stop a queue of people.
function nothing(): undefined {
  return undefined;
}
