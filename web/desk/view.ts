// Which view shows which state.

import * as entrance from "./entrance.js";
import { issuing } from "./issuing.js";
import { mailing } from "./mailing.js";
import { people, person } from "./people.js";
import type { Phrases } from "./phrases.js";
import * as premises from "./premises.js";
import * as programme from "./programme.js";
import { reporting } from "./reporting.js";
import { showing } from "./showing.js";
import type { State } from "./state.js";
import { stub } from "./stub.js";
import { tokens } from "./tokens.js";

/** The elements of a state's view. */
export function view(state: State, p: Phrases): readonly Node[] {
  switch (state.kind) {
    case "loading":
      return entrance.loading(p);
    case "link":
      return entrance.byLink(state, p);
    case "sign_in":
      return entrance.signIn(state, p);
    case "password":
      return entrance.firstPassword(state, p);
    case "no_rights":
      return entrance.noRights(state, p);
    case "failed":
      return entrance.failed(state, p);
    case "account":
      return entrance.account(state, p);
    case "venues":
      return premises.venues(state, p);
    case "gates":
      return premises.gates(state, p);
    case "devices":
      return premises.devices(state, p);
    case "people":
      return people(state, p);
    case "person":
      return person(state, p);
    case "tokens":
      return tokens(state, p);
    case "events":
      return programme.events(state, p);
    case "new_event":
      return programme.newEvent(state, p);
    case "event":
      return showing(state, p);
    case "report":
      return reporting(state, p);
    case "mails":
      return mailing(state, p);
    case "issue":
      return issuing(state, p);
    case "ticket":
      return stub(state, p);
  }
}
