// The last scans of a shift: what was answered, and whether it was taken back
// since. Names are not kept.

import type { Answer, Class } from "./answers.js";
import type { Stored } from "./outbox.js";

/** One answered scan. `at` is when it was scanned (RFC 3339). */
export interface Recent {
  readonly key: string;
  readonly at: string;
  readonly reason: string;
  readonly class: Class;
  readonly people: number;
  /** What the code was of, as far as that was told. */
  readonly ticket?: { readonly ticket: string; readonly number: number; readonly place: string };
  /** An admission that may be taken back. */
  readonly undoable: boolean;
  readonly undone?: boolean;
  /** The key of the call that takes it back, made once: an answer that was lost is had again. */
  readonly undo?: string;
}

/** How many are kept. */
export const recentKept = 50;

/** The list with one more scan, the newest first; a scan that was answered before has its place anew. */
export function withAnswer(list: readonly Recent[], scan: Stored, answer: Answer): readonly Recent[] {
  const { ticket, reason, people = 0 } = answer;
  const one: Recent = {
    key: scan.key,
    at: scan.scanned_at,
    reason,
    class: answer.class,
    people,
    undoable: answer.verdict === "admit" && ticket !== undefined && answer.alone === undefined,
    ...(ticket && { ticket: { ticket: ticket.ticket, number: ticket.number, place: [ticket.screen, ticket.seat].filter((word) => word !== "").join(" · ") } }),
  };
  return [one, ...list.filter(({ key }) => key !== scan.key)].slice(0, recentKept);
}

/** The list with a change to one of them. */
export function changed(list: readonly Recent[], key: string, change: Partial<Recent>): readonly Recent[] {
  return list.map((one) => (one.key === key ? { ...one, ...change } : one));
}
