// What went wrong, as data that a screen can show.

import { Problem, Unreachable } from "../shared/api.js";
import type { Trouble } from "./state.js";

/** Names an error of a call; anything that is none of ours is an internal one. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof Problem) {
    const left = error.facts["tries_left"];
    return { code: error.code, detail: error.detail, ...(typeof left === "number" && { tries_left: left }) };
  }
  return { code: error instanceof Unreachable ? "unreachable" : "internal" };
}
