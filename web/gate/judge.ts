// The first look at a text, before anything is sent: a ticket's code, named by
// the ticket in it, or something else, which never leaves this device.

import { parse, refused } from "../proof/parse.js";

/** What a text is. `id` tells presentations apart: the ticket, or the foreign text itself. */
export type Judged =
  | { readonly kind: "ticket"; readonly id: string; readonly code: string }
  | { readonly kind: "foreign"; readonly id: string; readonly reason: string; readonly what?: string };

/** Judges a text exactly as a camera gave it. */
export function judge(text: string): Judged {
  const code = parse(text);
  if (!refused(code)) return { kind: "ticket", id: code.ticket, code: text };
  return { kind: "foreign", id: `text ${text.slice(0, 200)}`, reason: code.reason, ...(code.what !== undefined && { what: code.what }) };
}

/** Judges what somebody typed or pasted, where case and surrounding space are forgiven. */
export function judgeTyped(text: string): Judged {
  const trimmed = text.trim();
  const digits = trimmed.replace(/ /g, "");
  // Six digits that a wallet shows when its code cannot be read; what ticket they stand for, the server knows.
  if (/^\d{6}$/.test(digits)) return { kind: "ticket", id: `short ${digits}`, code: digits };
  // A ticket's number and the eight digits of a one-time code. Of two showings both may have the number, so every
  // code is a presentation of its own. Without a space between them it could be a product's bar code.
  if (/^\d{9,18}$/.test(digits)) {
    const bar = trimmed === digits ? judge(digits) : undefined;
    const code = `${digits.slice(0, -8)} ${digits.slice(-8)}`;
    if (bar?.kind !== "foreign" || bar.what !== "ean") return { kind: "ticket", id: `one-time ${code}`, code };
  }
  return judge(/^p[a-z]\d:/i.test(trimmed) ? trimmed.toUpperCase() : trimmed);
}

/** Of several texts in one frame the one to act upon: a ticket before anything else. */
export function choose(texts: readonly string[]): Judged | undefined {
  const all = texts.map(judge);
  return all.find((judged) => judged.kind === "ticket") ?? all[0];
}
