// The views of who works here: the people with their roles, and one of them.

import { h } from "../shared/dom.js";
import type { Grant, Person } from "./answers.js";
import { button, empty, facts, field, formOf, handed, heading, link, notice, select, table, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import { everywhere, type House, type Open, type PeopleState, type PersonState, type State } from "./state.js";

const rooms = [
  { kind: "people", key: "desk.nav_people" },
  { kind: "tokens", key: "desk.tokens" },
] as const;

/** The ways between the rooms that have to do with who may do what. */
export function ways(state: State, p: Phrases): HTMLElement {
  const items = rooms.map(({ kind, key }) => h("li", {}, h("a", { href: format({ kind }), "aria-current": state.kind === kind && "page" }, p.say(key))));
  return h("ul", { class: "plain inline ways" }, ...items);
}

export function people(state: PeopleState, p: Phrases): readonly Node[] {
  const { house, people, added } = state;
  const rows = people.map((person) => [
    link(person.name, format({ kind: "person", id: person.person }), "title"),
    person.email,
    roles(person.grants, house, p),
    standing(person, p),
  ]);
  const columns = [p.say("desk.person_name"), p.say("desk.email"), p.say("desk.roles"), p.say("desk.state")];
  return [
    heading(p.say("desk.nav_people")),
    ways(state, p),
    h("div", { class: "slot" }, added ? addedNow(added, p) : addForm(state, p)),
    rows.length === 0 ? empty(p.say("desk.no_people")) : table(p.say("desk.nav_people"), columns, rows),
  ];
}

function standing({ disabled, has_password }: Person, p: Phrases): HTMLElement {
  if (disabled) return h("span", { class: "badge", "data-status": "revoked" }, p.say("desk.person_disabled"));
  return h("span", { class: "badge", "data-status": has_password ? "active" : "held" }, p.say(has_password ? "desk.person_active" : "desk.person_new"));
}

/** Somebody's roles in one sentence; a venue that is none of the reader's is not named. */
function roles(grants: readonly Grant[], { venues }: House, p: Phrases): string {
  if (grants.length === 0) return p.say("desk.no_role");
  const words = grants.map(({ venue, role, can_override }) => {
    const what = p.word("desk.role", can_override === true && role === "controller" ? "overrider" : role);
    if (venue === undefined) return p.say("desk.role_everywhere", { role: what });
    return p.say("desk.role_at", { role: what, venue: venues.find((one) => one.venue === venue)?.name ?? p.say("desk.another_venue") });
  });
  return p.list(words);
}

function addForm({ house, forms }: PeopleState, p: Phrases): HTMLElement {
  const parts = { p, id: "person", form: forms["person"] } as FormParts;
  return h(
    "section",
    { class: "panel", "aria-labelledby": "person-title" },
    h("h2", { id: "person-title" }, p.say("desk.add_person")),
    formOf(
      parts,
      { text: p.say("desk.add_person") },
      h("div", { class: "grid" }, field(parts, { name: "name", label: "desk.person_name" }), field(parts, { name: "email", label: "desk.email", hint: "desk.person_email_hint", type: "email", inputmode: "email" })),
      roleFields(parts, house),
    ),
  );
}

const choices = ["controller", "overrider", "supervisor", "admin"] as const;

/** What somebody may do, venue by venue; nobody gives what he has not himself. */
function roleFields(parts: FormParts, house: Open): HTMLElement {
  const { p, form } = parts;
  const options = [{ value: "", text: p.say("desk.no_role") }, ...choices.map((value) => ({ value, text: p.word("desk.role_is", value) }))];
  const all = everywhere(house.me) && select(parts, "role.all", "desk.every_venue", options);
  const each = house.venues.map(({ venue, name }) => select(parts, `role.${venue}`, { text: name }, options));
  const wrong = p.fault(form, "grants.role") ?? p.fault(form, "grants.venue");
  return h("fieldset", {}, h("legend", {}, p.say("desk.roles")), h("p", { class: "hint" }, p.say("desk.roles_hint")), wrong !== undefined && h("p", { class: "fault" }, wrong), h("div", { class: "grid" }, all, ...each));
}

function addedNow({ name, handed: link }: NonNullable<PeopleState["added"]>, p: Phrases): HTMLElement {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "added-title" },
    h("h2", { id: "added-title", tabindex: -1 }, p.say("desk.person_added", { name })),
    h("p", {}, p.say("desk.person_link_text")),
    handed(p, link, p.say("desk.person_link_alt")),
    h("p", { class: "buttons" }, button(p.say("desk.add_another_person"), "add_again")),
  );
}

export function person(state: PersonState, p: Phrases): readonly Node[] {
  const { house, person, forms } = state;
  const zone = house.venue.time_zone;
  const self = house.me.person === person.person;
  const yes = (there: boolean) => p.say(there ? "desk.is_set" : "desk.not_set");
  return [
    h("p", { class: "back" }, link(p.say("desk.to_people"), format({ kind: "people" }))),
    heading(person.name, h("p", { class: "over" }, p.say("desk.nav_people"))),
    h(
      "section",
      { class: "stub", "data-status": person.disabled ? "revoked" : "active" },
      facts(
        [p.say("desk.email"), person.email],
        [p.say("desk.roles"), roles(person.grants, house, p)],
        [p.say("desk.state"), standing(person, p)],
        [p.say("desk.password"), yes(person.has_password)],
        [p.say("desk.pin"), yes(person.has_pin)],
        [p.say("desk.second_factor"), yes(person.has_second_factor)],
        [p.say("desk.since"), p.day(person.created_at, zone)],
      ),
    ),
    h("div", { class: "slot" }, state.handed ? wayIn(state.handed, p) : deeds(state, self, p)),
    forms["person"] ? changeForm({ p, id: "person", form: forms["person"] }, house, self) : h("p", { class: "soft" }, p.say("desk.person_elsewhere")),
  ];
}

function wayIn(link: NonNullable<PersonState["handed"]>, p: Phrases): HTMLElement {
  return h(
    "section",
    { class: "panel", "aria-labelledby": "handed-title" },
    h("h2", { id: "handed-title", tabindex: -1 }, p.say("desk.person_link")),
    h("p", {}, p.say("desk.person_link_text")),
    handed(p, link, p.say("desk.person_link_alt")),
    h("p", { class: "buttons" }, button(p.say("desk.done"), "escape")),
  );
}

function deeds({ person, forms, asking }: PersonState, self: boolean, p: Phrases): HTMLElement {
  const trouble = h("div", {}, notice(p, forms["deed"]?.trouble, "trouble-deed"));
  if (asking !== undefined) {
    return h(
      "section",
      { class: "panel", "aria-labelledby": "deed-title" },
      h("h2", { id: "deed-title" }, p.word("desk.person_deed_title", asking, { name: person.name })),
      trouble,
      h("p", {}, p.word("desk.person_deed_text", asking, { name: person.name })),
      h("p", { class: "buttons" }, h("button", { type: "button", id: "deed-really", class: "danger", "data-act": `${asking}_really`, "data-on": person.person }, p.word("desk.person_deed", asking)), button(p.say("desk.cancel"), "escape")),
    );
  }
  const act = (name: "link" | "disable" | "enable" | "reset_factor") => h("button", { type: "button", class: "plain", id: `deed-${name}`, "data-act": name, "data-on": person.person }, p.word("desk.person_deed", name));
  return h(
    "div",
    {},
    trouble,
    h("p", { class: "buttons" }, person.disabled ? act("enable") : act("link"), person.has_second_factor && !self && act("reset_factor"), !person.disabled && !self && act("disable")),
  );
}

function changeForm(parts: FormParts, house: Open, self: boolean): HTMLElement {
  const { p } = parts;
  return h(
    "section",
    { class: "panel", "aria-labelledby": "person-title" },
    h("h2", { id: "person-title" }, p.say("desk.change_person")),
    formOf(parts, { text: p.say("desk.save") }, field(parts, { name: "name", label: "desk.person_name" }), self ? h("p", { class: "hint" }, p.say("desk.own_roles")) : roleFields(parts, house)),
  );
}
