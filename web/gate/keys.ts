// The keyboard, where it does what a finger does: digits on the PIN pad, Escape
// for the next person. At work no other key answers anything: a hand scanner
// types codes, and a code is full of digits and ends with Enter.

import type { Shift } from "./shift.js";

/** Listens on the whole page; fields and buttons that have the focus keep their keys. */
export function listen(shift: Shift): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target instanceof Element ? event.target : undefined;
    if (target?.closest("input, textarea, select") && event.key !== "Escape") return;
    if ((event.key === "Enter" || event.key === " ") && target?.closest("button, a") !== null) return;
    if (press(shift, event.key)) event.preventDefault();
  });
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
