// The view of an event's mails: to whom, what became of each, and the steps that it
// took, so that a mail that did not come is explained without the mail server's log.

import { h } from "../shared/dom.js";
import type { Mail, MailStep } from "./answers.js";
import { button, empty, heading, link, notice, select, table, type FormParts } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { MailsState } from "./state.js";

const states = ["waiting", "sending", "sent", "failed"];

export function mailing(state: MailsState, p: Phrases): readonly Node[] {
  const { event, log, forms } = state;
  const choice = { p, id: "mails", form: forms["mails"] } as FormParts;
  return [
    h("p", { class: "back" }, link(event.name, format({ kind: "event", id: event.event }))),
    heading(p.say("desk.mails"), h("p", { class: "over" }, [event.name, event.screen].filter((word) => word !== "").join(" · "))),
    h(
      "form",
      { id: "form-mails", class: "search", "data-form": "mails" },
      select(choice, "state", "desk.state", [{ value: "", text: p.say("desk.every_mail") }, ...states.map((value) => ({ value, text: p.word("desk.mail_state", value) }))]),
    ),
    h("div", { "aria-live": "polite" }, notice(p, log.trouble, "trouble-mails")),
    h("div", { class: "log", "aria-busy": log.busy && "true" }, list(state, p)),
    h("p", { class: "buttons" }, log.next !== "" && button(p.say("desk.more_mails"), "more_mails")),
  ];
}

function list({ log, event }: MailsState, p: Phrases): HTMLElement {
  if (log.items.length === 0) return empty(p.say(log.state === "" ? "desk.no_mails" : "desk.no_mails_so"));
  return h("ol", { class: "plain rows" }, ...log.items.map((mail) => entry(mail, event.time_zone, p)));
}

function entry(mail: Mail, zone: string, p: Phrases): HTMLElement {
  const of = mail.ticket !== undefined && mail.number !== null && link(p.say("desk.number", { number: String(mail.number) }), format({ kind: "ticket", id: mail.ticket }), "number");
  const why = wentWrong(mail, p);
  return h(
    "li",
    { id: `mail-${mail.mail}`, "data-mail": mail.state },
    h(
      "p",
      { class: "mail" },
      h("time", { class: "soft number", datetime: mail.at }, p.moment(mail.at, zone, true)),
      h("span", {}, mail.to === "" ? p.say("desk.no_address") : mail.to),
      h("span", { class: "soft" }, p.word("desk.mail_kind", mail.kind)),
      of,
      h("span", { class: "badge", "data-status": mail.state }, p.word("desk.mail_state", mail.state)),
    ),
    why !== undefined && h("p", { class: "why" }, why),
    mail.steps.length > 0 && steps(mail.steps, zone, p),
  );
}

/** At which step the last attempt failed, why, and what comes of it. */
function wentWrong({ state, steps: all }: Mail, p: Phrases): string | undefined {
  const last = all.at(-1);
  if (state === "sent" || last === undefined || last.outcome === "ok") return undefined;
  const values = { step: p.word("desk.mail_step", last.step), why: last.detail };
  return p.say(state === "failed" ? "desk.mail_failed_at" : "desk.mail_retried_after", values);
}

function steps(all: readonly MailStep[], zone: string, p: Phrases): HTMLElement {
  const columns = [p.say("desk.mail_attempt"), p.say("desk.mail_step_taken"), p.say("desk.mail_at"), p.say("desk.mail_took"), p.say("desk.mail_outcome")];
  const rows = all.map(({ attempt, step, at, took_ms, outcome, detail }) => [
    h("span", { class: "number" }, p.number(attempt)),
    p.word("desk.mail_step", step),
    h("span", { class: "number" }, p.moment(at, zone, true)),
    h("span", { class: "number" }, `${p.number(Math.round(took_ms))} ms`),
    outcome === "ok" ? p.say("desk.mail_ok") : detail,
  ]);
  return h("details", {}, h("summary", {}, p.say("desk.mail_steps", { count: all.length })), table(p.say("desk.mail_steps_of"), columns, rows));
}
