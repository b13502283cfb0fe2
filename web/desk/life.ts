// A ticket's life: what was done to it and its passages through gates, in one
// row of moments.

import type { Act, Admission, Ticket } from "./answers.js";
import type { Deed } from "./state.js";

export type Moment = { readonly at: string } & ({ readonly kind: "act"; readonly act: Act } | { readonly kind: "admission"; readonly admission: Admission });

/** The moments of a ticket, the oldest first; an act comes before a passage of the same moment. */
export function life(ticket: Pick<Ticket, "history" | "admissions">): readonly Moment[] {
  const moments: Moment[] = [
    ...ticket.history.map((act): Moment => ({ kind: "act", at: act.at, act })),
    ...ticket.admissions.map((admission): Moment => ({ kind: "admission", at: admission.at, admission })),
  ];
  // The server cuts fractions of a second differently, so that text does not compare.
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** What may be done to a ticket now, in the order in which it is offered. */
export function deeds({ status, holder }: Pick<Ticket, "status" | "holder">, paper: boolean): readonly Deed[] {
  const link: readonly Deed[] = holder.email === "" ? ["link", "reissue"] : ["link", "resend", "reissue"];
  switch (status) {
    case "active":
      return paper ? [...link, "print", "hold", "revoke"] : [...link, "hold", "revoke"];
    case "used":
      return ["revoke"];
    case "held":
      return ["release", ...link, "revoke"];
    case "revoked":
      return ["reinstate"];
  }
}

/** Whether a deed asks why: what only hands the link to its holder does not. */
export function asksWhy(deed: Deed): boolean {
  return deed !== "link" && deed !== "resend";
}
