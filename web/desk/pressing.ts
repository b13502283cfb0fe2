// What each button does. Whatever takes something away from somebody asks
// first and is done by a second press.

import * as calls from "./calls.js";
import { pause } from "./counting.js";
import type { Desk } from "./desk.js";
import { withoutFactor } from "./factor.js";
import { asksWhy } from "./life.js";
import { firstOrder } from "./loading.js";
import { moreMails } from "./posting.js";
import { format } from "./route.js";
import { escapeStaff, pressStaff } from "./staffing.js";
import { closed, form, opened, type Deed, type DevicesState, type IssueState } from "./state.js";

/** Milliseconds between two questions whether the pairing link was opened. */
const pollEvery = 1500;

/** Does what a button names; an act that the present view does not have is none. */
export async function press(desk: Desk, act: string, on: string): Promise<void> {
  switch (act) {
    case "skip":
      return document.getElementById("main")?.focus();
    case "copy":
      return copy(desk, on);
    case "print":
      return window.print();
    case "venue":
      return desk.choose(on);
    case "retry":
      return desk.visit();
    case "by_password":
      return desk.show({ kind: "sign_in", forms: { sign_in: form() } });
    case "go_on":
      return goOn(desk);
    case "sign_out":
      return signOut(desk);
    case "escape":
      return escape(desk);
    default:
      return inView(desk, act, on);
  }
}

async function inView(desk: Desk, act: string, on: string): Promise<void> {
  const { state } = desk;
  switch (state.kind) {
    case "events":
      return act === "more_events" ? moreEvents(desk) : undefined;
    case "event":
      if (act === "more_tickets") return moreTickets(desk);
      if (act === "open_category") desk.show(opened(state, "category", { admits: "1" }), "category-name");
      return;
    case "mails":
      return act === "more_mails" ? moreMails(desk) : undefined;
    case "issue":
      return atOrder(desk, state, act);
    case "ticket": {
      if (act !== "deed") return;
      const deed = on as Deed;
      return desk.show({ ...opened(state, "deed"), deed }, asksWhy(deed) ? "deed-reason" : "deed-title");
    }
    case "account":
      return act === "factor_done" ? desk.show(withoutFactor(state), "factor-title") : undefined;
    case "people":
    case "person":
    case "tokens":
      return pressStaff(desk, state, act, on);
    case "devices":
      return atDevices(desk, state, act, on);
    default:
      return;
  }
}

function atOrder(desk: Desk, state: IssueState, act: string): void {
  switch (act) {
    case "another": {
      const { issued: _, ...again } = state;
      return desk.show(again, "issue-holder-name");
    }
    case "cancel":
      // What was typed goes with it.
      desk.show(opened(state, "issue", firstOrder(state.categories)));
      return leaveOrder(desk, state);
    case "outside":
      return leaveOrder(desk, state);
  }
}

/** Back to the event. An order that is under way is waited for. */
function leaveOrder(desk: Desk, { event, issued, forms }: IssueState): void {
  if (issued === undefined && forms["issue"]?.busy !== true) desk.go(format({ kind: "event", id: event.event }));
}

/** Takes back what was pressed once, closes what was opened. */
function escape(desk: Desk): void {
  const { state } = desk;
  if (state.kind === "ticket" && (state.deed !== undefined || state.handed !== undefined)) {
    const { deed, handed: _, ...plain } = closed(state, "deed");
    desk.show(plain, deed === undefined ? "deed-link" : `deed-${deed}`);
  } else if (state.kind === "devices" && state.ending !== undefined) {
    const { ending: _, ...plain } = closed(state, "end");
    desk.show(plain, "title");
  } else if (state.kind === "event" && state.forms["category"] !== undefined && state.categories.length > 0) {
    desk.show(closed(state, "category"), "categories-title");
  } else if (state.kind === "issue") leaveOrder(desk, state);
  else if (state.kind === "account" && state.factor?.kind === "begun") desk.show(withoutFactor(state), "factor-title");
  else if (state.kind === "person" || state.kind === "tokens") escapeStaff(desk, state);
}

async function copy(desk: Desk, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    desk.say("desk.copied");
  } catch {
    // Plain HTTP in a local network has no clipboard: the text is marked instead.
    document.querySelector<HTMLInputElement>("#handed-text")?.select();
    desk.say("desk.copy_yourself");
  }
}

async function goOn(desk: Desk): Promise<void> {
  const { state } = desk;
  if ((state.kind === "password" || state.kind === "link") && state.me !== undefined) await desk.enter(state.me);
}

async function signOut(desk: Desk): Promise<void> {
  try {
    await calls.signOut();
  } catch (error) {
    return desk.fail(error);
  }
  history.replaceState(null, "", location.pathname);
  desk.leave("signed_out");
}

async function moreEvents(desk: Desk): Promise<void> {
  const { state } = desk;
  if (state.kind !== "events") return;
  try {
    const { items, next } = await calls.events(state.house.venue.venue, state.past ? "" : state.now.toISOString(), state.next);
    if (desk.state === state) desk.show({ ...state, events: [...state.events, ...items], next });
  } catch (error) {
    desk.fail(error);
  }
}

async function moreTickets(desk: Desk): Promise<void> {
  const { state } = desk;
  if (state.kind !== "event" || state.listing.busy) return;
  const { listing, event } = state;
  desk.show({ ...state, listing: { ...listing, busy: true } });
  const answer = await calls.tickets(event.event, { q: listing.q, status: listing.status, cursor: listing.next }, desk.visiting).catch(calls.troubleOf);
  const now = desk.state;
  if (now.kind !== "event" || now.listing.q !== listing.q || now.listing.status !== listing.status) return;
  if ("items" in answer) {
    const { trouble: _, ...before } = now.listing;
    desk.show({ ...now, listing: { ...before, items: [...listing.items, ...answer.items], next: answer.next, busy: false } });
  } else desk.show({ ...now, listing: { ...now.listing, busy: false, trouble: answer } });
}

async function atDevices(desk: Desk, state: DevicesState, act: string, on: string): Promise<void> {
  switch (act) {
    case "end":
      return desk.show({ ...opened(state, "end"), ending: on }, "end-really");
    case "end_really":
      return endDevice(desk, state, on);
    case "confirm":
    case "refuse":
      return decide(desk, state, act === "confirm");
    case "pair_again": {
      const { pairing: _, ...plain } = opened(state, "pair");
      return desk.show(plain, "pair-name");
    }
  }
}

async function endDevice(desk: Desk, state: DevicesState, device: string): Promise<void> {
  try {
    const ended = await calls.endDevice(device);
    const now = desk.state;
    if (now.kind !== "devices") return;
    const { ending: _, ...plain } = closed(now, "end");
    desk.show({ ...plain, devices: now.devices.map((one) => (one.device === device ? ended : one)) }, "title");
    desk.say("desk.device_ended_now", { name: ended.name });
  } catch (error) {
    if (desk.state.kind !== "devices") return;
    desk.show({ ...state, forms: { ...state.forms, end: { ...form(), trouble: calls.troubleOf(error) } } }, "trouble-end");
  }
}

async function decide(desk: Desk, state: DevicesState, yes: boolean): Promise<void> {
  if (state.pairing === undefined) return;
  // A link that nobody opened cannot be refused: it lapses by itself.
  if (!yes && state.pairing.pairing.state === "waiting") {
    const { pairing: _, ...plain } = opened(state, "pair");
    return desk.show(plain, "pair-name");
  }
  try {
    const pairing = await calls.decide(state.pairing.pairing.pairing, yes);
    if (desk.state.kind === "devices") desk.show({ ...desk.state, pairing: { ...state.pairing, pairing } }, "pairing-title");
  } catch (error) {
    desk.fail(error);
  }
}

/** Follows a pairing until its end, as long as the devices are shown. */
export async function followPairing(desk: Desk, id: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(pollEvery, signal);
    const present = following(desk, id);
    if (signal.aborted || present === undefined) return;
    if (document.hidden) continue;
    const pairing = await calls.pairing(id).catch(() => undefined);
    const now = following(desk, id);
    if (signal.aborted || now?.pairing === undefined) return;
    if (pairing === undefined || pairing.state === now.pairing.pairing.state) continue;
    const devices = pairing.state === "collected" ? await calls.devices(now.house.venue.venue).catch(() => now.devices) : now.devices;
    if (following(desk, id) === undefined) return;
    desk.show({ ...now, devices, pairing: { ...now.pairing, pairing } }, "pairing-title");
    if (["collected", "refused", "expired"].includes(pairing.state)) return;
  }
}

function following(desk: Desk, id: string): DevicesState | undefined {
  const { state } = desk;
  return state.kind === "devices" && state.pairing?.pairing.pairing === id ? state : undefined;
}
