// The wallet's session: the keys are who this phone is, the cookie only saves
// signing at every call.

import { fromB64u } from "../proof/bytes.js";
import { signSession } from "../proof/keys.js";
import { api, atOnce, type SessionProof, type Standings } from "./answers.js";
import type { Held } from "./store.js";

/** Opens a session for the tickets whose events are not over; undefined when there is none. Rejects as the calls do. */
export async function openSession(held: readonly Held[], now: number): Promise<Standings | undefined> {
  const wanted = toFollow(held, now).slice(0, atOnce);
  if (wanted.length === 0) return undefined;
  return api.session(await prove(wanted));
}

/** Signs a fresh challenge with the keys of these tickets. Rejects as the call does. */
export async function prove(held: readonly Held[]): Promise<readonly SessionProof[]> {
  const challenge = fromB64u((await api.challenge()).challenge, 32);
  if (challenge === undefined) throw new Error("the challenge is not 32 bytes");
  return Promise.all(held.map(async ({ ticket, generation, key }) => ({ ticket, generation, proof: await signSession(key, challenge, ticket) })));
}

/** The tickets that there may be news of. */
export function toFollow(held: readonly Held[], now: number): readonly Held[] {
  return held.filter((ticket) => ticket.state !== "moved" && Date.parse(ticket.event.ends_at) > now);
}

/** Whether a session's answer leaves a ticket out that this phone should follow. */
export function leavesOut(held: readonly Held[], answer: Standings, now: number): boolean {
  const named = new Set(answer.tickets.map((ticket) => `${ticket.ticket} ${ticket.generation}`));
  return toFollow(held, now).slice(0, atOnce).some((ticket) => !named.has(`${ticket.ticket} ${ticket.generation}`));
}

/** The tickets as an answer says that they stand; of what it does not name nothing changes. */
export function merge(held: readonly Held[], answer: Standings): readonly Held[] {
  return held.map((ticket) => {
    const standing = answer.tickets.find((one) => one.ticket === ticket.ticket && one.generation === ticket.generation);
    if (standing === undefined) return ticket;
    const { admitted: _before, ...rest } = ticket;
    // Who moved a ticket away is told nothing more of it: what is printed stays.
    return standing.state === "moved" ? { ...rest, state: "moved" } : { ...rest, ...standing };
  });
}
