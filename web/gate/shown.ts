// The gate's own code, for phones without network: made anew every fifteen
// seconds while it is in view.

import type { Hold } from "./answers.js";

// Loaded when it is first needed: most gates show no code all evening.
async function draw(code: string): Promise<Modules> {
  const { encodeQR } = await import("qr");
  return encodeQR(code, "raw", { ecc: "low", border: 4 });
}

const every = 15_000;
const retry = 2_000;

/** A code as rows of modules, true for dark, with its quiet zone. */
export type Modules = readonly (readonly boolean[])[];

/** Calls `show` now and again until stopped, and tells each new code; undefined when none could be had. */
export function shownCodes(show: () => Promise<Hold>, tell: (code: Modules | undefined) => void): { start(): void; stop(): void } {
  let turn = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const go = async (mine: number) => {
    const code = await show().then((hold) => draw(hold.code ?? "")).catch(() => undefined);
    if (mine !== turn) return;
    tell(code);
    timer = setTimeout(() => void go(mine), code === undefined ? retry : every);
  };
  const stop = () => {
    turn++;
    clearTimeout(timer);
  };
  return {
    stop,
    start() {
      stop();
      void go(turn);
    },
  };
}
