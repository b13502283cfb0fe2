import { test } from "node:test";
import assert from "node:assert/strict";
import { Problem, Unreachable } from "../shared/api.js";
import type { Kept, PartRows } from "./alonestore.js";
import { BadPack, type Head } from "./pack.js";
import { Packs, type PackShelf } from "./packs.js";
import { gate, id, part, row, signer, type Signer } from "./testpack.js";

/** What a browser keeps, by the same words. */
class Shelf implements PackShelf {
  kept: Kept | undefined;
  readonly rows = new Map<string, PartRows>();

  async pack(): Promise<Kept | undefined> {
    return this.kept;
  }

  async parts(set: string): Promise<readonly string[]> {
    const mine = [...this.rows.values()].filter((one) => one.set === set);
    return mine.sort((a, b) => a.n - b.n).map(({ rows }) => rows);
  }

  async forget(): Promise<void> {
    this.kept = undefined;
    this.rows.clear();
  }

  async write(kept: Kept, puts: readonly PartRows[], drops: readonly { set: string; from?: number }[] = []): Promise<void> {
    this.kept = kept;
    for (const { set, from = 0 } of drops) for (const [key, one] of this.rows) if (one.set === set && one.n >= from) this.rows.delete(key);
    for (const one of puts) this.rows.set(`${one.set} ${one.n}`, one);
  }
}

type Reply = (since: string, after: string) => Promise<Uint8Array<ArrayBuffer>>;

/** A gate's packs on a shelf; the server answers as the test says. */
function world(us: Signer, published = us) {
  const shelf = new Shelf();
  const asked: string[] = [];
  const replies: Reply[] = [];
  const open = () =>
    Packs.open(
      {
        shelf,
        keys: async () => [published.issuer],
        fetch: (_gate, since, after) => {
          asked.push(`${since}|${after}`);
          return (replies.shift() ?? (() => Promise.reject(new Unreachable("network"))))(since, after);
        },
      },
      gate,
    );
  const gives = (rows: string, head: Partial<Head> = {}, after = "", by = us) => void replies.push(() => part(by, rows, { head, after }));
  return { shelf, asked, open, gives, fails: (error: Error) => void replies.push(() => Promise.reject(error)) };
}

test("a pack comes part by part and is had again by the next page", async () => {
  const { open, gives, asked, shelf } = world(await signer());
  gives(row(1), {}, "a");
  gives(row(2), { serial: "9" }, "b");
  gives(row(3));
  const { head, tickets } = await (await open()).pull();
  assert.deepEqual(asked, ["|", "|a", "|b"]);
  assert.equal(tickets.size, 3);
  assert.equal(head.serial, "7", "the first part says from where a delta goes on");
  assert.equal((await open()).pack?.tickets.find(id(3))?.number, 3);
  assert.equal(shelf.rows.size, 3);
});

test("a pull that was cut goes on where it ended, in another page too", async () => {
  const { open, gives, asked } = world(await signer());
  gives(row(1), {}, "a");
  const first = await open();
  await assert.rejects(first.pull(), Unreachable);
  assert.equal(first.pack, undefined, "half a pack is none");
  gives(row(2), {}, "b");
  await assert.rejects(first.pull(), Unreachable);
  gives(row(3));
  assert.equal((await (await open()).pull()).tickets.size, 3);
  assert.deepEqual(asked, ["|", "|a", "|a", "|b", "|b"]);
});

test("a delta changes what it names; many are kept as one", async () => {
  const { open, gives, asked, shelf } = world(await signer());
  gives(row(1) + row(2));
  const packs = await open();
  await packs.pull();
  for (let n = 1; n <= 60; n++) {
    gives(row(2, { status: n % 2 === 0 ? "a" : "r" }) + row(2 + n), { since: String(6 + n), serial: String(7 + n) });
    await packs.pull();
  }
  gives("", { since: "67", serial: "68", made_at: "2026-12-07T20:41:00Z" });
  const { head } = await packs.pull();
  assert.deepEqual([asked[1], asked.at(-1), head.made_at], ["7|", "67|", "2026-12-07T20:41:00Z"]);
  assert.ok(shelf.rows.size <= 42, `${shelf.rows.size} parts`);
  const again = (await open()).pack;
  assert.equal(again?.tickets.size, 62);
  assert.equal(again?.tickets.find(id(2))?.status, "a");
  assert.equal(again?.head.made_at, head.made_at);
});

test("a pack whose events are over is forgotten, and its signer is still the only one that is believed", async () => {
  const us = await signer();
  const { open, gives, asked, shelf } = world(us);
  gives(row(1));
  const packs = await open();
  await packs.pull();
  await packs.forget();
  assert.deepEqual([packs.pack, shelf.kept, shelf.rows.size], [undefined, undefined, 0]);
  const stranger = await signer();
  gives(row(1), { issuer_keys: [stranger.issuer] }, "", stranger);
  await assert.rejects(packs.pull(), BadPack);
  gives("");
  assert.equal((await packs.pull()).tickets.size, 0);
  assert.equal(asked.at(-1), "|");
});

test("a whole pack takes the place of the one before, and nothing of that is left", async () => {
  const { open, gives, shelf } = world(await signer());
  gives(row(1));
  const packs = await open();
  await packs.pull();
  gives(row(2), { serial: "9" });
  const { tickets } = await packs.pull();
  assert.equal(tickets.find(id(1)), undefined);
  assert.equal(shelf.rows.size, 1);
});

test("a delta that is not good leaves the pack as it is, and the whole is asked for", async () => {
  const us = await signer();
  const { open, gives, asked } = world(us);
  gives(row(1));
  const packs = await open();
  await packs.pull();
  gives(row(1, { status: "r" }), { since: "7", serial: "8" }, "", { ...us, secret: (await signer()).secret });
  await assert.rejects(packs.pull(), BadPack);
  assert.equal(packs.pack?.tickets.find(id(1))?.status, "a");
  gives(row(1, { status: "r" }), { serial: "8" });
  assert.equal((await packs.pull()).tickets.find(id(1))?.status, "r");
  assert.equal(asked.at(-1), "|");
});

test("a cursor that the server does not know begins anew", async () => {
  const { open, gives, fails, asked } = world(await signer());
  gives(row(1), {}, "a");
  fails(new Problem({ status: 410, retryAfter: 0 }, { code: "pack.cursor" }));
  const packs = await open();
  await assert.rejects(packs.pull(), Problem);
  gives(row(1));
  assert.equal((await packs.pull()).tickets.size, 1);
  assert.equal(asked.at(-1), "|");
});

test("a signer that was not known before is believed only if the server publishes its key", async () => {
  const [us, next, stranger] = [await signer(), await signer(), await signer()];
  const { open, gives } = world(us, next);
  gives(row(1));
  const packs = await open();
  await packs.pull();
  gives(row(2), { serial: "8", issuer_keys: [stranger.issuer] }, "", stranger);
  await assert.rejects(packs.pull(), BadPack);
  gives(row(2), { serial: "8", issuer_keys: [next.issuer] }, "", next);
  assert.equal((await packs.pull()).tickets.find(id(2))?.number, 2);
});
