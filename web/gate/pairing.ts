// A browser becomes a gate: it presents the link's secret on a press of a
// button, then waits for the desk to say "this one".

import { Problem } from "../shared/api.js";
import { collectPairing } from "./calls.js";
import type { Paired } from "./store.js";
import { troubleOf } from "./trouble.js";
import type { Trouble } from "./state.js";

/** Takes the secret of a pairing link out of the address bar; undefined when there is none. */
export function takeSecret(): string | undefined {
  const [, secret] = /^#p\.(.+)$/.exec(location.hash) ?? [];
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return secret;
}

interface Platform {
  readonly userAgentData?: { readonly platform?: string };
}

/** A name to begin with, from what the browser says of its device. */
export function suggestedName(agent = navigator.userAgent, platform = (navigator as Platform).userAgentData?.platform ?? ""): string {
  const found = ["iPhone", "iPad", "Android", "Windows", "Mac", "Linux"].find((name) => agent.includes(name));
  return platform !== "" ? platform : (found ?? "");
}

/** How a pairing ended. */
export type Ended = { readonly kind: "paired"; readonly paired: Paired } | { readonly kind: "ended"; readonly trouble: Trouble };

const every = 1_000;

/** Asks until the desk has decided; `online` tells whether the server answers. Stops without an end when aborted. */
export function collect(secret: string, signal: AbortSignal, online: (reached: boolean) => void): Promise<Ended> {
  return new Promise((end) => {
    const ask = async () => {
      if (signal.aborted) return;
      try {
        const answer = await collectPairing(secret);
        online(true);
        if (answer.state === "confirmed") return end({ kind: "paired", paired: { device: answer.device, token: answer.token, name: answer.name } });
        if (answer.state !== "opened") return end({ kind: "ended", trouble: { code: `pairing.${answer.state}` } });
      } catch (error) {
        if (error instanceof Problem && error.status < 500 && error.status !== 429) return end({ kind: "ended", trouble: troubleOf(error) });
        online(error instanceof Problem);
      }
      setTimeout(() => void ask(), every);
    };
    void ask();
  });
}
