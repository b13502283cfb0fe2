// A gate that decides alone: by its pack, its own nonce and what it has let in
// itself. What it decides is stored before anybody sees it, and is the server's to
// judge once there is a network. Loaded when a gate is at work, not before.

import type { Answer, Device, FirstUse, Gate, Hold, Ticket } from "./answers.js";
import type { AloneStore } from "./alonestore.js";
import { checkable, decide, judgement, type Decision, type Facts, type Presented } from "./decide.js";
import { OwnNonces } from "./nonces.js";
import type { Wait } from "./outbox.js";
import { importIssuerKey, type PackCategory, type PackEvent, type PackTicket } from "./pack.js";
import { Packs, type Pack, type PackSurroundings } from "./packs.js";
import { Uploads, type Batch, type BatchScan, type Tally, type Upload } from "./uploads.js";
import { Uses, type Use } from "./uses.js";
import { b64u, fromB64u } from "../proof/bytes.js";
import { printGateCode, type NonceProof, type PaperCode, type TimeProof } from "../proof/code.js";
import { importPublicKey, verifyPaper, verifyPhone } from "../proof/keys.js";
import { parse, refused } from "../proof/parse.js";

/** A pack older than this many milliseconds says nothing about tonight. */
export const staleAfter = 24 * 3_600_000;

/** How often a pack is made fresh while there is a network, in milliseconds. */
const refreshEvery = 20_000;

/** What the device has to decide by; `made_at` is when the server made it (RFC 3339). */
export type Data =
  | { readonly kind: "none" | "not_allowed" }
  | { readonly kind: "stale" | "ready"; readonly made_at: string; readonly tickets: number };

/** A scan to decide, under its key. */
export interface Asked {
  readonly key: string;
  readonly ticket: string;
  readonly code: string;
  readonly direction: "in" | "out";
  readonly people?: number;
  readonly phone_offline?: boolean;
  /** Let in against the answer, by the person's right. */
  readonly override?: boolean;
  /** The device's clock, as the scan was made (RFC 3339). */
  readonly scanned_at: string;
}

export interface AloneSurroundings extends Pick<PackSurroundings, "fetch" | "keys"> {
  readonly store: AloneStore;
  readonly device: Device;
  readonly gate: Gate;
  send(scans: readonly BatchScan[]): Promise<Batch>;
  wait: Wait;
  changed(): void;
  /** How a call went: undefined when the server answered. */
  heard(error: unknown): void;
}

type Proof = NonceProof | TimeProof | PaperCode;

export class Alone {
  readonly #around: AloneSurroundings;
  readonly #packs: Packs;
  readonly #uses: Uses;
  readonly #uploads: Uploads;
  #offset: number;
  #stopRefreshing: () => void = () => undefined;
  #stopped = false;

  private constructor(around: AloneSurroundings, packs: Packs, uses: Uses, offset: number) {
    this.#around = around;
    this.#packs = packs;
    this.#uses = uses;
    this.#offset = offset;
    this.#uploads = new Uploads({
      send: (scans) => around.send(scans),
      settled: (over, waiting) => this.#settled(over, waiting),
      wait: around.wait,
      now: () => performance.now(),
      changed: around.changed,
    });
  }

  /** Takes up what an earlier page left, and begins to keep the pack fresh. */
  static async open(around: AloneSurroundings): Promise<Alone> {
    const { store, fetch, keys } = around;
    const packs = await Packs.open({ fetch, keys, shelf: store }, around.gate.gate);
    const offset = await store.offset();
    const alone = new Alone(around, packs, new Uses(await store.uses(), Date.now() + offset), offset);
    const mine = (await store.uploads()).filter(({ device }) => device === around.device.device);
    alone.#uploads.resume(mine);
    void alone.#refresh();
    return alone;
  }

  stop(): void {
    this.#stopped = true;
    this.#stopRefreshing();
    this.#packs.stop();
    this.#uploads.stop();
  }

  /** The network is back. */
  hurry(): void {
    this.#uploads.hurry();
    this.#stopRefreshing();
    void this.#refresh();
  }

  get unsent(): number {
    return this.#uploads.unsent;
  }

  get tally(): Tally {
    return this.#uploads.tally;
  }

  get data(): Data {
    const { pack } = this.#packs;
    const now = this.#now();
    if (pack === undefined) return { kind: "none" };
    const living = pack.events.filter(({ ends_at }) => ends_at > now);
    if (living.length === 0) return { kind: "not_allowed" };
    const { made_at } = pack.head;
    return { kind: now - Date.parse(made_at) > staleAfter ? "stale" : "ready", made_at, tickets: pack.tickets.size };
  }

  /** The server said what time it is, in an answer to a call that took from `sent` to now (Unix milliseconds of this device). */
  learn(serverTime: string, sent: number): void {
    const now = Date.now();
    const offset = Date.parse(serverTime) - (sent + now) / 2;
    // A slow answer says less than the clock that was known.
    if (Number.isNaN(offset) || now - sent > 4_000 || Math.abs(offset - this.#offset) < 500) return;
    this.#offset = offset;
    void this.#around.store.setOffset(offset);
  }

  /** The server let somebody in through this device. */
  async let(answer: Answer, key: string): Promise<void> {
    if (answer.verdict !== "admit" || answer.ticket === undefined || this.#uses.get(key) !== undefined) return;
    const { ticket } = answer.ticket;
    const direction = answer.direction ?? "in";
    const use = this.#use({ key, ticket, direction, people: answer.people ?? 1, proof: "", generation: 0 });
    await this.#keep({ ...use, seen: true, recorded: true });
  }

  /** The key of the ticket's passage whose answer nobody saw. */
  unseen(ticket: string, direction: "in" | "out"): string | undefined {
    return this.#uses.unseen(ticket, direction)?.key;
  }

  /** An answer of this device was on its screen. */
  async seen(key: string): Promise<void> {
    const use = this.#uses.get(key);
    if (use !== undefined && !use.seen) await this.#keep({ ...use, seen: true });
  }

  /** The device's own code for phones: the hold says nothing of a lease. */
  async ownCode(): Promise<Hold> {
    const nonces = await this.#nonces();
    if (nonces === undefined) throw new Error("there is no pack to make a code from");
    const nonce = await nonces.now(Date.now());
    return { code: printGateCode({ device: this.#around.device.device, nonce, accepted_for: 60 }), accepted_for: 60, server_time: this.#iso() };
  }

  /** Decides a scan. What lets in or refuses is stored before this resolves. */
  async judge(asked: Asked): Promise<Answer> {
    const code = parse(asked.code);
    if (refused(code) || code.kind === "totp") return this.#answer(asked, judgement("fallback_refused"), {}, undefined);
    const { pack } = this.#packs;
    const usable = this.data.kind === "ready" && pack !== undefined;
    const known = usable ? this.#known(pack, code) : undefined;
    const facts = known && (await this.#facts(asked, code, known));
    const presented = presentedOf(asked, code);
    let decision = facts === undefined ? judgement("not_in_pack") : decide(presented, facts);
    const may = this.#may(decision, code.ticket);
    const over = asked.override === true && may ? decision.reason : undefined;
    if (over !== undefined) decision = judgement("admitted", { people: Math.max(1, asked.people ?? 1) });
    const use = decision.verdict === "admit" && !decision.replayed ? this.#use({ key: asked.key, ...code, direction: asked.direction, people: decision.people, proof: proofOf(code), ...(over !== undefined && { over }) }) : undefined;
    await this.#record(asked, decision, over, known?.event, use);
    return this.#answer(asked, decision, { may, ...(over !== undefined && { over }), usable, kind: kindOf(code), generation: code.generation, proof: proofOf(code) }, known);
  }

  #known(pack: Pack, { ticket }: Proof): Known | undefined {
    const row = pack.tickets.find(ticket);
    const event = row && pack.events[row.event];
    const category = row && event?.categories[row.category];
    return row && event && category && { pack, row: this.#uses.applied(ticket, row), event, category };
  }

  async #facts(asked: Asked, code: Proof, { row, event, category }: Known): Promise<Facts> {
    const good = checkable(presentedOf(asked, code), row) && (await this.#verifies(code, row, event.id).catch(() => false));
    const last = this.#uses.last(code.ticket);
    // A button adds to the scan that was made then, and the server will judge it by that time too.
    const scanned = Date.parse(asked.scanned_at);
    return {
      now: scanned + this.#offset,
      gate: this.#around.gate.gate,
      ticket: row,
      event,
      category,
      signature_good: good,
      nonce_at: code.kind === "nonce" ? await this.#madeAt(code, scanned) : undefined,
      issued_at: code.kind === "time" ? code.issued_at * 1000 : undefined,
      proof_used: event.reentry && this.#uses.proved(code.ticket, asked.direction, proofOf(code)),
      same_key: this.#uses.get(asked.key),
      used_at: last?.at,
    };
  }

  async #verifies(code: Proof, { key }: PackTicket, event: string): Promise<boolean> {
    if (code.kind === "paper") {
      const kid = b64u(code.issuer_key);
      const issuer = this.#packs.pack?.head.issuer_keys.find((one) => one.kid === kid);
      return issuer !== undefined && verifyPaper(code, await importIssuerKey(issuer), event);
    }
    const raw = fromB64u(key ?? "", 64);
    return raw !== undefined && verifyPhone(code, await importPublicKey(raw), event);
  }

  /** When this device made the nonce, by the server's clock; undefined for another's. */
  async #madeAt({ nonce }: NonceProof, scanned: number): Promise<number | undefined> {
    const at = await (await this.#nonces())?.madeAt(nonce, scanned);
    return at === undefined ? undefined : at + this.#offset;
  }

  async #nonces(): Promise<OwnNonces | undefined> {
    const seed = fromB64u(this.#packs.pack?.head.seed ?? "", 32);
    return seed === undefined ? undefined : OwnNonces.from(seed);
  }

  /** Whether the person here may let in against a decision: server/ticket/decide.go, YieldsTo. */
  #may({ override }: Decision, ticket: string): boolean {
    const rights = this.#around.device.person?.rights ?? [];
    if (override !== "controller" && override !== "supervisor") return false;
    if (rights.includes("supervise")) return true;
    return override === "controller" && rights.includes("override") && !this.#uses.of(ticket).some(({ over }) => over !== undefined);
  }

  #use(what: Pick<Use, "key" | "ticket" | "direction" | "people" | "proof" | "generation"> & { over?: string }): Use {
    const { key, ticket, direction, people, proof, generation, over } = what;
    const row = this.#packs.pack?.tickets.find(ticket);
    const before = row && this.#uses.applied(ticket, row);
    const inside = (before?.inside ?? 0) + (direction === "in" ? people : -people);
    const entries = (before?.entries ?? 0) + (direction === "in" ? people : 0);
    const person = this.#around.device.person?.name ?? "";
    return { key, ticket, direction, people, entries, inside: Math.max(0, inside), at: this.#now(), proof, generation, person, seen: false, recorded: false, ...(over !== undefined && { over }) };
  }

  async #record(asked: Asked, decision: Decision, over: string | undefined, event: PackEvent | undefined, use: Use | undefined): Promise<void> {
    // "Once more" is no end, and a replay is what is told already.
    if (decision.verdict === "retry" || decision.replayed) return;
    const verdict = decision.verdict === "admit" ? "admitted" : "refused";
    const scan: BatchScan = {
      key: asked.key,
      gate: this.#around.gate.gate,
      event: event?.id ?? null,
      code: asked.code,
      direction: asked.direction,
      people: Math.max(1, decision.people, asked.people ?? 1),
      verdict,
      reason: over ?? decision.reason,
      scanned_at: asked.scanned_at,
      phone_offline: asked.phone_offline ?? false,
      person: this.#around.device.person?.person ?? "",
      pack: this.#packs.pack?.head.serial ?? "",
    };
    const upload: Upload = { id: `${asked.key} ${verdict}`, device: this.#around.device.device, scan, tries: 0 };
    await this.#around.store.putDecided(upload, use);
    if (use !== undefined) this.#uses.put(use);
    this.#uploads.add(upload);
  }

  async #settled(over: Parameters<ConstructorParameters<typeof Uploads>[0]["settled"]>[0], waiting: readonly Upload[]): Promise<void> {
    const recorded = over.flatMap(({ upload: { scan }, verdict: { verdict } }) => {
      const use = scan.verdict === "admitted" ? this.#uses.get(scan.key) : undefined;
      // What the server only keeps marks nothing there, so it has to count here.
      return use !== undefined && (verdict === "recorded" || verdict === "double_admission") ? [{ ...use, recorded: true }] : [];
    });
    for (const use of recorded) this.#uses.put(use);
    await this.#around.store.settle(over.map(({ upload }) => upload.id), recorded, waiting);
  }

  async #keep(use: Use): Promise<void> {
    this.#uses.put(use);
    await this.#around.store.putUse(use);
  }

  async #refresh(): Promise<void> {
    if (this.#stopped) return;
    const contained = this.#uses.recorded();
    let error: unknown;
    try {
      await this.#packs.pull();
      this.#uses.forget(contained);
      await this.#around.store.deleteUses(contained);
    } catch (failed) {
      error = failed;
    }
    if (this.#stopped) return;
    if (this.data.kind === "not_allowed" && (this.#packs.pack?.tickets.size ?? 0) > 0) await this.#packs.forget();
    this.#around.heard(error);
    this.#around.changed();
    this.#stopRefreshing = this.#around.wait(refreshEvery * (0.75 + Math.random() / 2), () => void this.#refresh());
  }

  #now(): number {
    return Date.now() + this.#offset;
  }

  #iso(): string {
    return new Date(this.#now()).toISOString();
  }

  #answer(asked: Asked, decision: Decision, more: { may?: boolean; over?: string; usable?: boolean; kind?: string; generation?: number; proof?: string }, known: Known | undefined): Answer {
    const { reason, verdict, class: cls, replayed, people, remaining, skew, limit } = decision;
    const proven = !["bad_signature", "unknown_ticket", "not_in_pack"].includes(reason);
    const use = reason.startsWith("already_") ? this.#uses.last(asked.ticket) : undefined;
    const time = limit === undefined ? undefined : new Date(limit).toISOString();
    return {
      verdict,
      class: cls,
      reason,
      replayed,
      title: "",
      advice: "",
      actions: reason === "choose_people" ? ["people"] : reason === "needs_assist" ? ["phone_offline"] : more.may === true && more.over === undefined ? ["override"] : [],
      alone: more.usable === false ? "no_data" : "decided",
      direction: asked.direction,
      remaining,
      server_time: this.#iso(),
      ...(more.kind !== undefined && { kind: more.kind }),
      ...(people > 0 && { people }),
      ...(skew !== undefined && { seconds_skew: Math.round(skew / 1000) }),
      ...(reason === "too_early" && time !== undefined && { not_before: time }),
      ...(reason === "too_late" && time !== undefined && { not_after: time }),
      ...(reason === "wrong_gate" && known !== undefined && { gates: gatesOf(known) }),
      ...(known !== undefined && proven && { ticket: ticketOf(asked.ticket, known, this.#around.device) }),
      ...(more.over !== undefined && { overridden: [more.over] }),
      ...(use !== undefined && { first_use: this.#firstUse(use, more) }),
    };
  }

  #firstUse({ at, person, generation, proof }: Use, now: { generation?: number; proof?: string }): FirstUse {
    return {
      at: new Date(at).toISOString(),
      seconds_ago: Math.max(0, Math.round((this.#now() - at) / 1000)),
      gate_name: this.#around.gate.name,
      person,
      same_device: true,
      // What the server let in through this device was not looked at here.
      same_claim: generation === 0 || generation === now.generation,
      same_nonce: proof !== "" && proof === now.proof,
    };
  }
}

/** What the pack has of a code's ticket. */
interface Known {
  readonly pack: Pack;
  readonly row: PackTicket;
  readonly event: PackEvent;
  readonly category: PackCategory;
}

function presentedOf({ direction, people = 0, phone_offline = false }: Asked, { kind: signs, generation }: Proof): Presented {
  return { signs, generation, direction, people, phone_offline };
}

function proofOf(code: Proof): string {
  return code.kind === "nonce" ? b64u(code.nonce) : code.kind === "time" ? String(code.issued_at) : "";
}

function kindOf({ kind }: Proof): string {
  return kind === "nonce" ? "shown" : kind === "time" ? "timed" : "paper";
}

function gatesOf({ pack, category }: Known): readonly Gate[] {
  return category.gates.map((gate) => ({ gate, name: pack.head.gates.find(({ id }) => id === gate)?.name ?? "" }));
}

function ticketOf(ticket: string, { row, event, category }: Known, { venue }: Device): Ticket {
  const iso = (at: number) => new Date(at).toISOString();
  return {
    ticket,
    number: row.number,
    category: category.name,
    seat: row.seat,
    event_name: event.name,
    screen: event.screen,
    doors_open_at: iso(event.doors_open_at),
    starts_at: iso(event.starts_at),
    venue_name: venue.name,
    time_zone: venue.time_zone,
  };
}
