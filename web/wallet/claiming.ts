// Putting the tickets of a link onto this phone. Keys are written and read back
// before anything is sent, and an unanswered claim is sent again with the same
// keys: a ticket is never bound to a key that is lost.

import { Problem, Unreachable } from "../shared/api.js";
import { b64u, fromB64u, sha256, utf8 } from "../proof/bytes.js";
import { newKeyPair, publicJWK, signClaim } from "../proof/keys.js";
import { api, atOnce, type Bound, type ClaimKey, type Offered, type Taken } from "./answers.js";
import type { Held, Pending, Store } from "./store.js";

/** The part of the store that a claim needs. */
export type Keeps = Pick<Store, "begin" | "unfinished" | "claimed" | "dropPending" | "end">;

/** This browser cannot keep a key, or not one that signs. */
export class CannotKeep extends Error {
  override readonly name = "CannotKeep";
}

/** Makes a key for each of a link's tickets and keeps it; rejects with CannotKeep. */
export async function prepare(store: Keeps, code: string, tickets: readonly Offered[]): Promise<void> {
  try {
    const pending = await Promise.all(tickets.map(async ({ ticket, event }) => ({ ticket, event, pair: await newKeyPair() })));
    await store.begin(code, pending);
    const copies = (await store.unfinished())?.pending ?? [];
    if (copies.length !== pending.length) throw new Error("some keys are gone");
    await Promise.all(copies.map(works));
  } catch (error) {
    await store.end().catch(() => undefined);
    throw new CannotKeep(String(error));
  }
}

/** The test that counts: a signature by what was read back. */
async function works({ pair }: Pending): Promise<void> {
  const how = { name: "ECDSA", hash: "SHA-256" };
  const text = utf8("kept");
  const signature = await crypto.subtle.sign(how, pair.privateKey, text);
  if (!(await crypto.subtle.verify(how, pair.publicKey, signature, text))) throw new Error("a kept key does not sign");
}

/** Sends an unfinished claim until all its tickets are bound or refused. Rejects with Unreachable (then call it again), or with the Problem that ended it. */
export async function finish(store: Keeps): Promise<readonly Held[]> {
  const bound: Held[] = [];
  let refused: Problem | undefined;
  for (let tries = 0; tries < 100; tries++) {
    const rest = await store.unfinished();
    if (rest === undefined) break;
    try {
      bound.push(...(await send(store, rest.code, rest.pending.slice(0, atOnce), (keys) => api.claim(rest.code, keys))));
    } catch (error) {
      if (!(error instanceof Problem) || mayCome(error)) throw error;
      if (error.code === "claim.challenge_ended") continue;
      refused = error;
      if (!(await dropRefused(store, error, rest.pending))) break;
    }
  }
  await store.end();
  if (bound.length === 0 && refused !== undefined) throw refused;
  return bound;
}

/** Moves the tickets of an unfinished claim here by the digits of a mail, at most as many as one request takes. The answer may be had again as long as the claim is unfinished. Rejects as finish does. */
export async function confirm(store: Keeps, digits: string): Promise<readonly Held[]> {
  const all = await store.unfinished();
  if (all === undefined) return [];
  const bound = await send(store, all.code, all.pending.slice(0, atOnce), (keys) => api.confirmMove(all.code, digits, keys));
  await store.end();
  return bound;
}

/** The server may still answer: the same may be sent again. */
export function mayCome(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Problem && (error.status === 429 || error.status >= 500));
}

// The server binds all of a request or none, and names the ticket in the way.
async function dropRefused(store: Keeps, error: Problem, pending: readonly Pending[]): Promise<boolean> {
  const ticket = error.facts["ticket"];
  if (typeof ticket !== "string" || !pending.some((one) => one.ticket === ticket)) return false;
  await store.dropPending(ticket);
  return true;
}

async function send(store: Keeps, code: string, pending: readonly Pending[], bind: (keys: readonly ClaimKey[]) => Promise<Taken>): Promise<readonly Held[]> {
  const offer = await api.offer(code);
  const challenge = fromB64u(offer.challenge, 32);
  if (challenge === undefined) throw new Error("the challenge is not 32 bytes");
  const keys = await Promise.all(pending.map((one) => keyOf(one, challenge, code)));
  const answer = await bind(keys);
  const link = await linkID(code);
  const held = answer.tickets.flatMap((ticket) => heldOf(ticket, pending, link));
  await store.claimed(held);
  return held;
}

async function keyOf({ ticket, event, pair }: Pending, challenge: Uint8Array, code: string): Promise<ClaimKey> {
  const [jwk, proof] = await Promise.all([publicJWK(pair.publicKey), signClaim(pair.privateKey, challenge, event, code)]);
  return { ticket, jwk, proof };
}

/** What is kept of a link that was used here, to know it again. */
export async function linkID(code: string): Promise<string> {
  return b64u(await sha256(code));
}

function heldOf(ticket: Bound, pending: readonly Pending[], link: string): readonly Held[] {
  const key = pending.find((one) => one.ticket === ticket.ticket)?.pair.privateKey;
  return key === undefined ? [] : [{ ...ticket, key, link, state: "active", entries: 0 }];
}

/** Why a link leads nowhere, for a page that says so; an error that is no answer is thrown on. */
export function whyFailed(error: unknown): "unknown" | "ended" | "unreachable" | "refused" {
  if (error instanceof Unreachable) return "unreachable";
  if (!(error instanceof Problem)) throw error;
  if (error.code === "claim.code_unknown" || error.code === "move.link_unknown") return "unknown";
  return error.code === "claim.code_ended" ? "ended" : "refused";
}

/** Milliseconds that the server asks to wait. */
export function retryAfter(error: unknown): number {
  return error instanceof Problem || error instanceof Unreachable ? error.retryAfter * 1000 : 0;
}
