// The keyboard, where it does what a finger does: digits on the PIN pad, Escape
// for the next person. At work no other key answers anything: a hand scanner
// types codes, and a code is full of digits and ends with Enter.

import type { Shift } from "./shift.js";
import { gap, Wedge } from "./wedge.js";

/** Silence of so many milliseconds ends a scanner's burst that has no Enter. */
const silence = 2 * gap;

/** Listens on the whole page; fields and buttons that have the focus keep their keys. */
export function listen(shift: Shift): void {
  listenToScanners(shift);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : undefined;
    if (target?.closest("input, textarea, select") && event.key !== "Escape") return;
    if ((event.key === "Enter" || event.key === " ") && target?.closest("button, a") !== null) return;
    if (press(shift, event.key)) event.preventDefault();
  });
}

/** Hand scanners, before anything else hears of their keys. What got into a field before it was known for one is taken out. */
function listenToScanners(shift: Shift): void {
  const acts = shift.acts();
  let before: { readonly field: HTMLInputElement | HTMLTextAreaElement; readonly value: string } | undefined;
  let ending: ReturnType<typeof setTimeout> | undefined;
  let swallowed = false;
  const restore = () => {
    if (before !== undefined) before.field.value = before.value;
  };
  const wedge = new Wedge((burst) => {
    restore();
    acts.scanned(burst);
  });
  const hear = (event: KeyboardEvent) => {
    if (shift.state.kind !== "working" || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    const field = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement ? target : undefined;
    const value = field?.value ?? "";
    clearTimeout(ending);
    swallowed = wedge.stroke({ key: event.key, code: event.code, shift: event.shiftKey, at: event.timeStamp, field: field !== undefined });
    if (wedge.length === 1) before = field && { field, value };
    if (wedge.length > 0) ending = setTimeout(() => wedge.end(), silence);
    if (!swallowed) return;
    restore();
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("keydown", hear, { capture: true });
  // A button is pressed when the space bar comes up.
  document.addEventListener("keyup", (event) => swallowed && event.key === " " && event.preventDefault(), { capture: true });
}

/** Says whether the key meant something here. */
function press(shift: Shift, key: string): boolean {
  const acts = shift.acts();
  const { state } = shift;
  if (state.kind === "sign_on" && state.step.kind === "pin") {
    if (/^\d$/.test(key)) acts.digit(key);
    else if (key === "Backspace") acts.erase();
    else if (key === "Escape") acts.backToNames();
    else return false;
    return true;
  }
  if (state.kind !== "working") return false;
  return pressAtWork(shift, key);
}

function pressAtWork(shift: Shift, key: string): boolean {
  const { state } = shift;
  if (state.kind !== "working") return false;
  const acts = shift.acts();
  const { over } = state.screen;
  if (key === "Escape" && over.kind === "answer") acts.tap();
  else if (key === "Escape" && state.panel.kind !== "none") acts.open("none");
  else if (state.camera === "resting" && (key === "Enter" || key === " ")) acts.wake();
  else return false;
  return true;
}
