// The view of an event's evening: who is in, what the doors answered and when,
// at which gate and by whom.

import { h } from "../shared/dom.js";
import type { Report } from "./answers.js";
import { files } from "./calls.js";
import { counted, empty, heading, link, notice, table } from "./parts.js";
import type { Phrases } from "./phrases.js";
import { format } from "./route.js";
import type { ReportState } from "./state.js";
import { begins, busy, strips, ticks, type Strip } from "./strips.js";

/** Names under the axis, as many as a phone's width takes. */
const named = 4;

/** The height of a strip, and the width of one bucket in it, in its own units. */
const tall = 40;
const wide = 10;

export function reporting(state: ReportState, p: Phrases): readonly Node[] {
  const { event, report, trouble } = state;
  return [
    h("p", { class: "back" }, link(event.name, format({ kind: "event", id: event.event }))),
    heading(p.say("desk.report"), h("p", { class: "over" }, [event.name, event.screen].filter((word) => word !== "").join(" · "))),
    h("p", { class: "large" }, [p.day(event.doors_open_at, event.time_zone), p.hours(event)].join(" · ")),
    h("div", { "aria-live": "polite" }, notice(p, trouble, "trouble-report")),
    counted(
      p,
      { name: "inside", label: "desk.count_inside", value: report.inside },
      { name: "entries", label: "desk.count_entries", value: report.entries },
      { name: "outside", label: "desk.count_outside", value: report.tickets.active },
      { name: "refused", label: "desk.count_refused", value: report.attempts.refused },
    ),
    h("p", { class: "soft" }, p.say("desk.report_at", { time: p.moment(report.at, event.time_zone, true) })),
    answers(state, p),
    h("div", { class: "columns" }, gates(report, p), people(report, p)),
    ...unattributed(report, p),
    downloads(state, p),
  ];
}

function section(id: string, title: string, ...children: (Node | false)[]): HTMLElement {
  return h("section", { "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

function answers(state: ReportState, p: Phrases): HTMLElement {
  const { report } = state;
  const title = p.say("desk.answers");
  if (report.reasons.length === 0) return section("answers", title, empty(p.say("desk.no_answers")));
  const all = strips(report.reasons);
  return section(
    "answers",
    title,
    h("p", { class: "soft" }, p.say("desk.answers_unit", { count: Math.round(report.step_s / 60) })),
    h("ol", { class: "plain strips" }, ...all.map((strip) => h("li", { "data-kind": strip.class }, line(strip, state, p)))),
    axis(state, p),
    h("details", {}, h("summary", {}, p.say("desk.as_table")), h("div", { class: "wide" }, bucketTable(all, state, p))),
  );
}

function line(strip: Strip, { report, event }: ReportState, p: Phrases): HTMLElement {
  const name = p.word("reason", strip.reason);
  const time = p.time(begins(report, strip.at), event.time_zone);
  const peak = p.say("desk.peak", { most: p.number(strip.most), time });
  return h(
    "div",
    { class: "strip" },
    h("p", {}, h("strong", {}, name), " ", h("span", { class: "number" }, p.number(strip.attempts))),
    h("div", { class: "scale number", "aria-hidden": "true" }, h("span", {}, p.number(strip.most)), h("span", {}, "0")),
    bars(strip, `${name}: ${peak}`),
  );
}

const space = "http://www.w3.org/2000/svg";

function bars(strip: Strip, says: string): Element {
  const svg = draw("svg", { role: "img", "aria-label": says, viewBox: `0 0 ${strip.bars.length * wide} ${tall}`, preserveAspectRatio: "none" });
  strip.bars.forEach((value, at) => {
    if (value === 0) return;
    // One scan of hundreds is still seen.
    const height = Math.max(1.5, (value / strip.most) * tall);
    svg.append(draw("rect", { x: at * wide + 1, y: tall - height, width: wide - 2, height }));
  });
  return svg;
}

function draw(tag: string, attributes: Readonly<Record<string, string | number>>): Element {
  const element = document.createElementNS(space, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** The hours under the strips, each name where its bucket begins. */
function axis({ report, event }: ReportState, p: Phrases): HTMLElement {
  const all = ticks(report, named).map(({ at, part }) => {
    const tick = h("span", {}, p.time(at, event.time_zone));
    tick.style.insetInlineStart = `${part * 100}%`;
    return tick;
  });
  return h("div", { class: "axis number", "aria-hidden": "true" }, ...all);
}

function bucketTable(all: readonly Strip[], { report, event }: ReportState, p: Phrases): HTMLElement {
  const rows = busy(report.reasons).map((at) => [
    h("span", { class: "number" }, p.time(begins(report, at), event.time_zone)),
    ...all.map(({ bars: values }) => h("span", { class: "number" }, p.number(values[at] ?? 0))),
  ]);
  return table(p.say("desk.answers"), [p.say("desk.from"), ...all.map(({ reason }) => p.word("reason", reason))], rows);
}

function gates({ gates: all }: Report, p: Phrases): HTMLElement {
  const rows = all.map((gate) => [gate.gate_name, ...[gate.people_in, gate.people_out, gate.refused].map((value) => figure(value, p))]);
  const columns = [p.say("desk.gate"), p.say("desk.people_in"), p.say("desk.people_out"), p.say("desk.count_refused")];
  return section("gates", p.say("desk.by_gate"), rows.length === 0 ? empty(p.say("desk.no_answers")) : table(p.say("desk.by_gate"), columns, rows));
}

function people({ people: all }: Report, p: Phrases): HTMLElement {
  const rows = all.map((one) => [one.person_name, ...[one.admitted, one.refused, one.overrides + one.look_ups, one.undos].map((value) => figure(value, p))]);
  const columns = [p.say("desk.person"), p.say("desk.admitted"), p.say("desk.count_refused"), p.say("desk.by_judgement"), p.say("desk.undone_by")];
  return section("people", p.say("desk.by_person"), rows.length === 0 ? empty(p.say("desk.no_answers")) : table(p.say("desk.by_person"), columns, rows));
}

function figure(value: number, p: Phrases): HTMLElement {
  return h("span", { class: value === 0 ? "number soft" : "number" }, p.number(value));
}

/** Codes that named no ticket: they may have been meant for any event, so that they are told apart. */
function unattributed({ unattributed: all }: Report, p: Phrases): readonly HTMLElement[] {
  if (all.length === 0) return [];
  const items = all.map(({ reason, attempts }) => h("li", {}, p.word("reason", reason), " ", h("span", { class: "number" }, p.number(attempts))));
  return [section("strange", p.say("desk.strange_codes"), h("p", { class: "soft" }, p.say("desk.strange_codes_text")), h("ul", { class: "plain inline" }, ...items))];
}

function downloads({ event }: ReportState, p: Phrases): HTMLElement {
  const { tickets, attempts } = files(event.event, document.documentElement.lang);
  return h(
    "p",
    { class: "buttons" },
    h("a", { href: tickets, download: true }, p.say("desk.tickets_file")),
    h("a", { href: attempts, download: true }, p.say("desk.attempts_file")),
  );
}
