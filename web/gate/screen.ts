// What lies over the camera's picture, as a rule without a page: which answer
// is shown, for how long, and whether the next code may be taken.

import type { Answer, Class } from "./answers.js";

/** An answer to show: the server's, one that was found here (foreign codes), or a call that was refused. */
export type Shown =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "foreign"; readonly reason: string; readonly what?: string }
  | { readonly kind: "problem"; readonly code: string; readonly detail: string };

/** Decides colour, shape, sound and vibration. */
export function classOf(shown: Shown): Class {
  if (shown.kind === "answer") return shown.answer.class;
  return shown.kind === "foreign" ? "again" : "ask";
}

/** What is over the picture. `key` names the scan; a foreign code has none. */
export type Over =
  | { readonly kind: "nothing" }
  /** A scan is out; `slow` after a second; `other` when somebody else's code was seen meanwhile. */
  | { readonly kind: "asking"; readonly key: string; readonly slow: boolean; readonly other: boolean }
  /** An answer; `id` is what was in view; `old` when it was given before; `other` as above. */
  | { readonly kind: "answer"; readonly shown: Shown; readonly id: string; readonly key?: string; readonly old: boolean; readonly other: boolean };

/** `last` is the answer before, kept as a strip until the next scan. */
export interface Screen {
  readonly over: Over;
  readonly last?: Extract<Over, { kind: "answer" }>;
}

export type Event =
  | { readonly kind: "sent"; readonly key: string }
  | { readonly kind: "slow"; readonly key: string }
  | { readonly kind: "answered"; readonly shown: Shown; readonly id: string; readonly key?: string; readonly old?: boolean }
  | { readonly kind: "other" }
  | { readonly kind: "faded"; readonly key: string | undefined }
  | { readonly kind: "tapped" }
  | { readonly kind: "set_aside" };

export const empty: Screen = { over: { kind: "nothing" } };

/**
 * Whether a new code may be taken. An admission and "try again" give way to the
 * next person; whatever asks a person to decide stays until that person does.
 */
export function takes({ over }: Screen): boolean {
  if (over.kind === "nothing") return true;
  if (over.kind === "asking") return false;
  const cls = classOf(over.shown);
  return cls === "admit" || cls === "again";
}

/** The screen after an event; the same screen when the event is not about it. */
export function after(screen: Screen, event: Event): Screen {
  const { over } = screen;
  switch (event.kind) {
    case "sent":
      return { over: { kind: "asking", key: event.key, slow: false, other: false } };
    case "slow":
      return over.kind === "asking" && over.key === event.key ? { ...screen, over: { ...over, slow: true } } : screen;
    case "answered": {
      const { shown, id, key, old = false } = event;
      const answer = { kind: "answer", shown, id, old, other: false, ...(key !== undefined && { key }) } as const;
      // Full green is for one person only: the same phone, handed back over the
      // barrier, gets its old answer in small.
      return old && classOf(shown) === "admit" ? dismissed(answer) : { over: answer };
    }
    case "other":
      return over.kind === "nothing" || over.other ? screen : { ...screen, over: { ...over, other: true } };
    case "faded":
      return over.kind === "answer" && over.key === event.key && classOf(over.shown) === "admit" ? dismissed(over) : screen;
    case "tapped":
      return over.kind === "answer" ? dismissed(over) : screen;
    case "set_aside":
      return over.kind === "asking" ? empty : screen;
  }
}

function dismissed(last: Extract<Over, { kind: "answer" }>): Screen {
  return { over: { kind: "nothing" }, last };
}
