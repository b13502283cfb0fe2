// What a gate keeps in this browser: its credential, the gate that was chosen,
// every scan from before it is sent until its answer was seen, and then that it
// was, until the server knows. Where the browser keeps nothing, the page works and
// forgets.

import { openDB, type DBSchema, type IDBPDatabase } from "idb";
import type { Stored } from "./outbox.js";
import type { Receipt } from "./receipts.js";
import type { Recent } from "./recent.js";

/** A paired device. */
export interface Paired {
  readonly device: string;
  readonly token: string;
  readonly name: string;
}

/** A pairing that waits for the desk. */
export interface Waiting {
  readonly collect: string;
  readonly name: string;
}

interface Kept extends DBSchema {
  settings: { key: string; value: unknown };
  scans: { key: string; value: Stored };
  receipts: { key: string; value: Receipt };
}

/** The gate's own store in IndexedDB. */
export class Store {
  readonly #database: IDBPDatabase<Kept> | undefined;
  readonly #memory = new Map<string, unknown>();

  private constructor(database: IDBPDatabase<Kept> | undefined) {
    this.#database = database;
  }

  static async open(): Promise<Store> {
    try {
      const database = await openDB<Kept>("portillon-gate", 2, {
        upgrade(database, before) {
          if (before < 1) {
            database.createObjectStore("settings");
            database.createObjectStore("scans", { keyPath: "key" });
          }
          database.createObjectStore("receipts", { keyPath: "key" });
        },
      });
      return new Store(database);
    } catch {
      return new Store(undefined);
    }
  }

  paired(): Promise<Paired | undefined> {
    return this.#get("paired") as Promise<Paired | undefined>;
  }

  waiting(): Promise<Waiting | undefined> {
    return this.#get("waiting") as Promise<Waiting | undefined>;
  }

  /** The id of the gate that was chosen last. */
  gate(): Promise<string | undefined> {
    return this.#get("gate") as Promise<string | undefined>;
  }

  /** The id of the camera that was chosen last; the browser's own, and nobody else's. */
  camera(): Promise<string | undefined> {
    return this.#get("camera") as Promise<string | undefined>;
  }

  set(what: "paired", value: Paired): Promise<void>;
  set(what: "waiting", value: Waiting): Promise<void>;
  set(what: "gate" | "camera", value: string): Promise<void>;
  set(what: string, value: unknown): Promise<void> {
    return this.#set(what, value);
  }

  async #set(what: string, value: unknown): Promise<void> {
    this.#memory.set(what, value);
    await this.#database?.put("settings", value, what).catch(ignore);
  }

  /** How many a person let in by judgement; another person's count begins anew. */
  async overrides(person: string): Promise<number> {
    const kept = (await this.#get("overrides")) as { person: string; count: number } | undefined;
    return kept?.person === person ? kept.count : 0;
  }

  setOverrides(person: string, count: number): Promise<void> {
    return this.#set("overrides", { person, count });
  }

  /** The last scans of a person; another person begins anew. */
  async recent(person: string): Promise<readonly Recent[]> {
    const kept = (await this.#get("recent")) as { person: string; scans: readonly Recent[] } | undefined;
    return kept?.person === person ? kept.scans : [];
  }

  setRecent(person: string, scans: readonly Recent[]): Promise<void> {
    return this.#set("recent", { person, scans });
  }

  async forget(what: "paired" | "waiting" | "gate"): Promise<void> {
    this.#memory.delete(what);
    await this.#database?.delete("settings", what).catch(ignore);
  }

  async #get(what: string): Promise<unknown> {
    return this.#memory.get(what) ?? (await this.#database?.get("settings", what).catch(ignore));
  }

  async putScan(scan: Stored): Promise<void> {
    await this.#database?.put("scans", scan).catch(ignore);
  }

  async deleteScan(key: string): Promise<void> {
    await this.#database?.delete("scans", key).catch(ignore);
  }

  async putReceipt(receipt: Receipt): Promise<void> {
    await this.#database?.put("receipts", receipt).catch(ignore);
  }

  async deleteReceipt(key: string): Promise<void> {
    await this.#database?.delete("receipts", key).catch(ignore);
  }

  async receipts(): Promise<readonly Receipt[]> {
    return (await this.#database?.getAll("receipts").catch(ignore)) ?? [];
  }

  async scans(): Promise<readonly Stored[]> {
    return (await this.#database?.getAll("scans").catch(ignore)) ?? [];
  }
}

// A full or forbidden store must not stop a queue of people.
function ignore(): undefined {
  return undefined;
}
