// What the buttons and forms of people and tokens do.

import type { Grant, Person } from "./answers.js";
import * as calls from "./calls.js";
import type { Desk } from "./desk.js";
import type { Key } from "../shared/messages.js";
import type { Route } from "./route.js";
import { closed, everywhere, form, opened, type Form, type Open, type PeopleState, type PersonState, type TokensState } from "./state.js";
import type { Step } from "./submitting.js";
import { scopes } from "./tokens.js";

/** Milliseconds. */
const day = 86_400_000;

export type StaffState = PeopleState | PersonState | TokensState;
export type StaffRoute = Extract<Route, { kind: StaffState["kind"] }>;

/** Fetches what one of these views shows. */
export async function loadStaff(route: StaffRoute, house: Open): Promise<StaffState> {
  switch (route.kind) {
    case "people":
      return { kind: "people", house, people: await calls.people(), forms: { person: form() } };
    case "person":
      return atPerson(house, await calls.person(route.id));
    case "tokens":
      return { kind: "tokens", house, tokens: await calls.apiTokens(), forms: { token: tokenForm(house) } };
  }
}

/** Somebody as he stands, with what may be changed filled in. */
function atPerson(house: Open, person: Person): PersonState {
  return { kind: "person", house, person, forms: within(house, person) ? { person: form({ name: person.name, ...valuesOf(person.grants) }) } : {} };
}

/** Whether all of somebody's roles are at places where the reader gives them. */
function within({ me, venues }: Open, { grants }: Person): boolean {
  return everywhere(me) || grants.every(({ venue }) => venues.some((one) => one.venue === venue));
}

/** A token ends so many days after its form was opened: the same press sent again asks for the same. */
function tokenForm({ me, venue }: Open): Form {
  return form({ since: new Date().toISOString(), days: "90", venue: everywhere(me) ? "" : venue.venue, "scope.read": "yes" });
}

/** Roles as a form has them: one choice for each venue, and one for all. */
export function valuesOf(grants: readonly Grant[]): Readonly<Record<string, string>> {
  return Object.fromEntries(grants.map(({ venue, role, can_override }) => [`role.${venue ?? "all"}`, role === "controller" && can_override === true ? "overrider" : role]));
}

/** The reverse of valuesOf. */
export function grantsOf(values: Readonly<Record<string, string>>): readonly Grant[] {
  return Object.entries(values)
    .filter(([name, value]) => name.startsWith("role.") && value !== "")
    .map(([name, value]) => {
      const where = name.slice("role.".length);
      const role = value === "overrider" ? "controller" : (value as Grant["role"]);
      return { ...(where !== "all" && { venue: where }), role, ...(value === "overrider" && { can_override: true }) };
    });
}

/** Carries one of these views' forms out. */
export async function submitStaff(state: StaffState, sent: Form): Promise<Step> {
  const of = (name: string) => (sent.values[name] ?? "").trim();
  switch (state.kind) {
    case "people": {
      const made = await calls.addPerson({ name: of("name"), email: of("email"), grants: grantsOf(sent.values) }, sent.key);
      const added = { name: made.name, handed: await calls.hand(made.sign_in_link ?? "") };
      return { kind: "stay", state: { ...closed(state, "person"), people: await calls.people(), added }, focus: "added-title" };
    }
    case "person": {
      const self = state.house.me.person === state.person.person;
      const person = await calls.changePerson(state.person.person, { name: of("name"), ...(!self && { grants: grantsOf(sent.values) }) });
      return { kind: "stay", state: atPerson(state.house, person), said: "desk.saved", focus: "title" };
    }
    case "tokens": {
      const days = Number(of("days"));
      const chosen = scopes.filter((scope) => of(`scope.${scope}`) === "yes");
      const expires_at = new Date(Date.parse(of("since")) + days * day).toISOString();
      const made = await calls.addToken({ name: of("name"), scopes: chosen, ...(of("venue") !== "" && { venue: of("venue") }), ...(days > 0 && { expires_at }) }, sent.key);
      return { kind: "stay", state: { ...closed(state, "token"), tokens: await calls.apiTokens(), made }, focus: "made-title" };
    }
  }
}

/** Does what a button of one of these views names. */
export async function pressStaff(desk: Desk, state: StaffState, act: string, on: string): Promise<void> {
  switch (state.kind) {
    case "people": {
      const { added: _, ...plain } = opened(state, "person");
      return act === "add_again" ? desk.show(plain, "person-name") : undefined;
    }
    case "person":
      return ofPerson(desk, state, act);
    case "tokens":
      return ofToken(desk, state, act, on);
  }
}

async function ofPerson(desk: Desk, state: PersonState, act: string): Promise<void> {
  const { house, person } = state;
  const id = person.person;
  switch (act) {
    case "link":
      return attempt(desk, state, async () => ({ ...closed(state, "deed"), handed: await calls.hand((await calls.personLink(id)).sign_in_link) }), "handed-title");
    case "disable":
    case "reset_factor":
      return desk.show({ ...closed(state, "deed"), asking: act }, "deed-really");
    case "disable_really":
      return attempt(desk, state, async () => atPerson(house, await calls.changePerson(id, { disabled: true })), "title", "desk.person_disabled_now");
    case "reset_factor_really":
      return attempt(desk, state, async () => atPerson(house, await calls.resetFactor(id)), "title", "desk.factor_removed");
    case "enable":
      return attempt(desk, state, async () => atPerson(house, await calls.changePerson(id, { disabled: false })), "title", "desk.person_enabled_now");
  }
}

async function ofToken(desk: Desk, state: TokensState, act: string, on: string): Promise<void> {
  switch (act) {
    case "end_token":
      return desk.show({ ...closed(state, "deed"), ending: on }, "end-really");
    case "end_token_really":
      return attempt(desk, state, async () => {
        const ended = await calls.endToken(on);
        const { ending: _, ...plain } = closed(state, "deed");
        return { ...plain, tokens: state.tokens.map((one) => (one.token_id === on ? ended : one)) };
      }, "title", "desk.token_ended_now");
    case "token_kept": {
      const { made: _, ...plain } = state;
      return desk.show({ ...plain, forms: { ...plain.forms, token: tokenForm(state.house) } }, "token-name");
    }
  }
}

/** Takes back what was pressed once, closes what was opened. */
export function escapeStaff(desk: Desk, state: StaffState): void {
  if (state.kind === "person" && (state.asking !== undefined || state.handed !== undefined)) {
    const { asking, handed: _, ...plain } = closed(state, "deed");
    desk.show(plain, `deed-${asking ?? "link"}`);
  } else if (state.kind === "tokens" && state.ending !== undefined) {
    const { ending: _, ...plain } = closed(state, "deed");
    desk.show(plain, "title");
  }
}

/** Makes a call and shows the state that comes of it; a refusal is shown where the button is. */
async function attempt(desk: Desk, state: StaffState, call: () => Promise<StaffState>, focus: string, said?: Key): Promise<void> {
  const { visiting } = desk;
  try {
    const next = await call();
    if (visiting.aborted) return;
    desk.show(next, focus);
    if (said !== undefined) desk.say(said);
  } catch (error) {
    const trouble = calls.troubleOf(error);
    if (visiting.aborted) return;
    if (trouble.status === 401) return desk.leave("ended");
    desk.show({ ...state, forms: { ...state.forms, deed: { ...form(), trouble } } }, "trouble-deed");
  }
}
