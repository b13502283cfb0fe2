// Made-up states of the rooms of people and tokens, for the samples.

import type { Person, Token } from "./answers.js";
import { missing } from "./orders.js";
import { form, opened, withForm, type Handed, type Open, type PeopleState, type PersonState, type State, type TokensState } from "./state.js";

/** The states by name, in a house and with a link to hand over. */
export function crew(house: Open, handed: Handed): Readonly<Record<string, State>> {
  const alena: Person = { person: "p1", name: "Alena Dvořáková", email: "alena@aurora.example", grants: [{ role: "admin" }], disabled: false, has_password: true, has_pin: true, has_second_factor: false, created_at: "2026-09-01T08:00:00Z" };
  const karel: Person = { ...alena, person: "p2", name: "Karel Novák", email: "karel@aurora.example", grants: [{ venue: "v1", role: "controller", can_override: true }, { venue: "v2", role: "supervisor" }], has_password: false, has_second_factor: true };
  const eva: Person = { ...alena, person: "p3", name: "Eva Svobodová-Procházková z Nového Města", email: "eva.svobodova-prochazkova@a-very-long-domain.example", grants: [{ venue: "elsewhere", role: "controller" }], disabled: true, has_pin: false };
  const at: Open = { ...house, me: { ...house.me, person: "p1" } };
  const people: PeopleState = { kind: "people", house: at, people: [alena, eva, karel, { ...karel, person: "p4", name: "Petra Králová", grants: [] }], forms: { person: form({ "role.v1": "controller" }) } };
  const person: PersonState = { kind: "person", house: at, person: karel, forms: { person: form({ name: karel.name, "role.v1": "overrider", "role.v2": "supervisor" }) } };
  const token: Token = { token_id: "k1", name: "Web shop", scopes: ["read", "issue"], venue: "v1", person_name: alena.name, expires_at: "2027-03-01T08:00:00Z", revoked_at: null };
  const tokens: TokensState = {
    kind: "tokens",
    house: at,
    tokens: [token, { ...token, token_id: "k2", name: "Reports of the whole chain for the accountant", scopes: ["read"], expires_at: null, person_name: karel.name }, { ...token, token_id: "k3", name: "Old cash desk", scopes: ["admin", "scan"], revoked_at: "2026-11-01T08:00:00Z" }],
    forms: { token: form({ days: "90", "scope.read": "yes" }) },
  };
  const { venue: _, ...everyVenue } = token;
  return {
    people,
    people_none: withForm({ ...people, people: [] }, "person", { trouble: missing([{ name: "name", code: "required" }, { name: "email", code: "invalid" }]) }),
    people_taken: withForm(people, "person", { trouble: { ...missing([]), code: "person.email_taken" } }),
    people_added: { ...people, added: { name: "Petra Králová", handed } },
    person,
    person_self: { ...person, person: alena, forms: { person: form({ name: alena.name }) } },
    person_elsewhere: { ...person, person: eva, forms: {} },
    person_link: { ...person, handed },
    person_disabling: { ...person, asking: "disable" },
    person_reset_factor: { ...person, asking: "reset_factor" },
    person_refused: withForm(opened(person, "deed"), "deed", { trouble: { ...missing([]), code: "unreachable" } }),
    tokens,
    account_factor: { kind: "account", house: { ...at, me: { ...at.me, has_password: true, has_second_factor: true } }, forms: { password: form(), pin: form(), factor: form() } },
    account_factor_begun: withForm({ kind: "account", house: at, factor: { kind: "begun", secret: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", handed }, forms: { password: form(), pin: form(), factor: form() } }, "factor", { trouble: missing([{ name: "code", code: "otp_wrong" }]) }),
    account_factor_codes: { kind: "account", house: at, factor: { kind: "codes", codes: Array.from({ length: 10 }, (_, n) => `ABC${n}E-FGH${n}J`) }, forms: { password: form(), pin: form() } },
    sign_in_code: withForm({ kind: "sign_in", forms: { sign_in: form({ email: "alena@aurora.example", password: "x" }) } }, "sign_in", { trouble: { ...missing([]), code: "session.otp_required" } }),
    link_code: withForm({ kind: "link", forms: { link: form({ otp: "123456" }) } }, "link", { trouble: { ...missing([]), code: "session.otp_wrong" } }),
    tokens_none: withForm({ ...tokens, tokens: [] }, "token", { trouble: missing([{ name: "scopes", code: "required" }]) }),
    tokens_made: { ...tokens, made: { ...everyVenue, token: "pta_9kkd8sWaTw82NKHX5lOxaE8tt4HGC-AFccGjzw_zyh4" } },
    tokens_ending: { ...opened(tokens, "deed"), ending: "k1" },
  };
}
