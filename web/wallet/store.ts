// What a wallet keeps in this browser: keys, which nobody can export, and what
// is printed on the tickets, so that they can be shown without network.

import { openDB, type DBSchema, type IDBPDatabase } from "idb";
import type { Standing } from "./answers.js";

/** A ticket with its key, and SHA-256 of the claim code of its link (base64url), to know that link again. */
export interface Held extends Standing {
  readonly key: CryptoKey;
  readonly link: string;
  /** Makes one-time codes; there once the guest has asked for digits. */
  readonly oneTime?: CryptoKey;
}

/** A key that was made for a ticket whose claim is not answered yet. */
export interface Pending {
  readonly ticket: string;
  readonly event: string;
  readonly pair: CryptoKeyPair;
}

interface Kept extends DBSchema {
  tickets: { key: string; value: Held };
  pending: { key: string; value: Pending };
  settings: { key: string; value: unknown };
}

/** Tickets of events that have been over for so long are forgotten, in milliseconds. */
const forgetAfter = 7 * 24 * 3600_000;

/** This browser's store. Its methods throw what IndexedDB throws. */
export class Store {
  readonly #database: IDBPDatabase<Kept>;

  private constructor(database: IDBPDatabase<Kept>) {
    this.#database = database;
  }

  /** Rejects where the browser keeps nothing. */
  static async open(): Promise<Store> {
    return new Store(
      await openDB<Kept>("portillon-wallet", 1, {
        upgrade(fresh) {
          fresh.createObjectStore("tickets", { keyPath: "ticket" });
          fresh.createObjectStore("pending", { keyPath: "ticket" });
          fresh.createObjectStore("settings");
        },
      }),
    );
  }

  /** All tickets in the order in which their doors open, without those of long ago. */
  async tickets(now: number): Promise<readonly Held[]> {
    const all = await this.#database.getAll("tickets");
    const old = all.filter((held) => Date.parse(held.event.ends_at) + forgetAfter < now);
    await Promise.all(old.map((held) => this.#database.delete("tickets", held.ticket)));
    return all.filter((held) => !old.includes(held)).sort(byDoors);
  }

  async keep(tickets: readonly Held[]): Promise<void> {
    const act = this.#database.transaction("tickets", "readwrite", { durability: "strict" });
    await Promise.all([...tickets.map((held) => act.store.put(held)), act.done]);
  }

  /** Keeps the keys of a claim that is about to be sent, with its code, so that a lost answer costs nothing. */
  async begin(code: string, pending: readonly Pending[]): Promise<void> {
    const act = this.#database.transaction(["pending", "settings"], "readwrite", { durability: "strict" });
    await act.objectStore("pending").clear();
    await Promise.all([...pending.map((one) => act.objectStore("pending").put(one)), act.objectStore("settings").put(code, "claim_code"), act.done]);
  }

  /** The code and the keys of an unfinished claim. */
  async unfinished(): Promise<{ readonly code: string; readonly pending: readonly Pending[] } | undefined> {
    const [code, pending] = await Promise.all([this.#database.get("settings", "claim_code"), this.#database.getAll("pending")]);
    return typeof code === "string" && pending.length > 0 ? { code, pending } : undefined;
  }

  /** These are claimed: their keys move over to the tickets in one step. */
  async claimed(tickets: readonly Held[]): Promise<void> {
    const act = this.#database.transaction(["tickets", "pending"], "readwrite", { durability: "strict" });
    await Promise.all([
      ...tickets.flatMap((held) => [act.objectStore("tickets").put(held), act.objectStore("pending").delete(held.ticket)]),
      act.done,
    ]);
  }

  async dropPending(ticket: string): Promise<void> {
    await this.#database.delete("pending", ticket);
  }

  /** The claim is over, whatever came of it. */
  async end(): Promise<void> {
    const act = this.#database.transaction(["pending", "settings"], "readwrite");
    await Promise.all([act.objectStore("pending").clear(), act.objectStore("settings").delete("claim_code"), act.done]);
  }

  /** Server minus phone in milliseconds, as it was learned last. */
  async offset(): Promise<number | undefined> {
    const offset = await this.#database.get("settings", "clock_offset");
    return typeof offset === "number" ? offset : undefined;
  }

  async keepOffset(offset: number): Promise<void> {
    await this.#database.put("settings", offset, "clock_offset");
  }
}

export function byDoors(a: Standing, b: Standing): number {
  return (
    Date.parse(a.event.doors_open_at) - Date.parse(b.event.doors_open_at) ||
    a.event.event.localeCompare(b.event.event) ||
    a.number - b.number
  );
}
