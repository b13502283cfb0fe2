// Reads an event's mail log: again while it is looked at, in one state of the
// mails, and further down.

import * as calls from "./calls.js";
import { pause } from "./counting.js";
import type { Desk } from "./desk.js";
import type { MailLog, MailsState } from "./state.js";

/** Milliseconds between two looks: a mail takes a second or two. */
const again = 5000;

/** The log with a change, if the desk still shows that log of mails in that state. */
function changed(desk: Desk, { event, log }: MailsState, change: Partial<MailLog>): void {
  const now = desk.state;
  if (now.kind !== "mails" || now.event.event !== event.event || now.log.state !== log.state) return;
  const { trouble: _, ...bare } = now.log;
  desk.show({ ...now, log: { ...bare, busy: false, ...change } });
}

/** Shows the mails that are in the state that was chosen. */
export async function chooseMails(desk: Desk): Promise<void> {
  const { state } = desk;
  if (state.kind !== "mails") return;
  const mine = { ...state, log: { ...state.log, state: state.forms["mails"]?.values["state"] ?? "", busy: true } };
  desk.show(mine);
  try {
    const { items, next } = await calls.mails(state.event.event, { state: mine.log.state }, desk.visiting);
    changed(desk, mine, { items, next });
  } catch (error) {
    changed(desk, mine, { trouble: calls.troubleOf(error) });
  }
}

export async function moreMails(desk: Desk): Promise<void> {
  const { state } = desk;
  if (state.kind !== "mails" || state.log.busy) return;
  const { log, event } = state;
  desk.show({ ...state, log: { ...log, busy: true } });
  try {
    const { items, next } = await calls.mails(event.event, { state: log.state, cursor: log.next }, desk.visiting);
    changed(desk, state, { items: [...log.items, ...items], next });
  } catch (error) {
    changed(desk, state, { trouble: calls.troubleOf(error) });
  }
}

/** Reads the first page again and again until the signal, but not while nobody looks or somebody has gone further down. */
export async function keepReading(desk: Desk, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(again, signal);
    const { state } = desk;
    if (signal.aborted || state.kind !== "mails" || document.hidden || state.log.busy || state.log.items.length > 100) continue;
    try {
      const { items, next } = await calls.mails(state.event.event, { state: state.log.state }, signal);
      if (!signal.aborted && desk.state === state) changed(desk, state, { items, next });
    } catch (error) {
      if (!signal.aborted) changed(desk, state, { trouble: calls.troubleOf(error) });
    }
  }
}
