// The pieces that all views are made of. They hold no functions: a button names
// its act in attributes, and the drawing listens once for all of them.

import { h } from "../shared/dom.js";
import type { Key } from "../shared/messages.js";
import type { Phrases } from "./phrases.js";
import type { Form, Handed, Trouble } from "./state.js";

type Child = Node | string | false | null | undefined;

/** The heading that gets the focus when a view opens. */
export function heading(text: string, ...above: Child[]): HTMLElement {
  return h("div", { class: "heading" }, ...above, h("h1", { id: "title", tabindex: -1 }, text));
}

export function button(text: string, act: string, on = "", kind: "main" | "plain" | "quiet" | "danger" = "plain"): HTMLElement {
  return h("button", { type: "button", class: kind, "data-act": act, "data-on": on }, text);
}

export function link(text: string, href: string, kind = ""): HTMLElement {
  return h("a", { href, class: kind }, text);
}

/** A trouble in words. It gets the focus, so that it is read where it happened. */
export function notice(p: Phrases, trouble: Trouble | undefined, id: string): HTMLElement | undefined {
  if (trouble === undefined) return undefined;
  return h("p", { class: "alarm", id, tabindex: -1 }, p.trouble(trouble));
}

export interface FormParts {
  readonly p: Phrases;
  readonly id: string;
  readonly form: Form;
}

/** A form with its trouble above and its button below. */
export function formOf({ p, id, form }: FormParts, submit: { readonly text: string; readonly kind?: "main" | "danger"; readonly beside?: Child }, ...children: Child[]): HTMLElement {
  const go = h("button", { class: submit.kind ?? "main", "aria-disabled": form.busy && "true" }, form.busy ? p.say("desk.busy") : submit.text);
  return h(
    "form",
    { id: `form-${id}`, "data-form": id, novalidate: true, autocomplete: "off" },
    // A place of its own, so that the fields below stay the same elements.
    h("div", {}, notice(p, form.trouble, `trouble-${id}`)),
    ...children,
    h("div", { class: "buttons" }, go, submit.beside),
  );
}

export interface Field {
  readonly name: string;
  readonly label: Key;
  readonly hint?: Key;
  readonly type?: string;
  readonly autocomplete?: string;
  readonly inputmode?: string;
  readonly list?: string;
  /** It may stay empty; "silent" does not say so, where nothing else would be expected. */
  readonly optional?: boolean | "silent";
  readonly narrow?: boolean;
}

/** A line to fill in, with its label, its hint and what is wrong with it. */
export function field(parts: FormParts, spec: Field): HTMLElement {
  const { p, form } = parts;
  const { id, attributes, after } = around(parts, spec.name, spec.hint);
  const input = h("input", {
    ...attributes,
    type: spec.type ?? "text",
    value: form.values[spec.name] ?? "",
    autocomplete: spec.autocomplete ?? "off",
    inputmode: spec.inputmode,
    list: spec.list,
    "aria-required": spec.optional === undefined ? "true" : undefined,
  });
  const label = h("label", { for: id }, p.say(spec.label), spec.optional === true && h("span", { class: "soft" }, ` ${p.say("desk.optional")}`));
  return h("div", { class: spec.narrow === true ? "field narrow" : "field" }, label, input, ...after);
}

/** One of several in a line; the label is a message, or a name that stands for itself. */
export function select(parts: FormParts, name: string, label: Key | { readonly text: string }, options: readonly { readonly value: string; readonly text: string }[]): HTMLElement {
  const { p, form } = parts;
  const { id, attributes, after } = around(parts, name, undefined);
  const chosen = form.values[name] ?? "";
  const all = options.map(({ value, text }) => h("option", { value, selected: value === chosen }, text));
  return h("div", { class: "field" }, h("label", { for: id }, typeof label === "string" ? p.say(label) : label.text), h("select", attributes, ...all), ...after);
}

export function check(parts: FormParts, name: string, label: string, hint?: Key): HTMLElement {
  const { id, attributes, after } = around(parts, name, hint);
  const box = h("input", { ...attributes, type: "checkbox", value: "yes", checked: parts.form.values[name] === "yes" });
  return h("div", { class: "field tick" }, box, h("label", { for: id }, label), ...after);
}

/** One of a few, each with a sentence on what it means at the door. */
export function choice(parts: FormParts, name: string, legend: Key, options: readonly { readonly value: string; readonly title: string; readonly text: string }[]): HTMLElement {
  const { p, id, form } = parts;
  const rows = options.map(({ value, title, text }) => {
    const own = `${inputId(id, name)}-${value}`;
    const radio = h("input", { type: "radio", id: own, name, value, "data-field": name, checked: form.values[name] === value, "aria-describedby": `${own}-text` });
    return h("div", { class: "tick" }, radio, h("label", { for: own }, title), h("p", { class: "hint", id: `${own}-text` }, text));
  });
  return h("fieldset", {}, h("legend", {}, p.say(legend)), ...rows);
}

function inputId(form: string, name: string): string {
  return `${form}-${name}`.replace(/[^\w-]/g, "-");
}

function around({ p, id: formId, form }: FormParts, name: string, hint: Key | undefined) {
  const id = inputId(formId, name);
  const wrong = p.fault(form, name);
  const described = [hint !== undefined && `${id}-hint`, wrong !== undefined && `${id}-fault`].filter((word) => word !== false).join(" ");
  const attributes = {
    id,
    name,
    "data-field": name,
    "aria-describedby": described === "" ? undefined : described,
    "aria-invalid": wrong === undefined ? undefined : "true",
  };
  const after = [
    hint !== undefined && h("p", { class: "hint", id: `${id}-hint` }, p.say(hint)),
    wrong !== undefined && h("p", { class: "fault", id: `${id}-fault` }, wrong),
  ];
  return { id, attributes, after };
}

/** A table that becomes cards on a phone; the roles survive that change of display. */
export function table(caption: string, columns: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const head = h("tr", { role: "row" }, ...columns.map((name) => h("th", { role: "columnheader", scope: "col" }, name)));
  const body = rows.map((cells) =>
    h("tr", { role: "row" }, ...cells.map((cell, at) => h("td", { role: "cell", "data-label": columns[at] ?? "" }, h("div", {}, cell)))),
  );
  return h(
    "table",
    { role: "table" },
    h("caption", { class: "spoken" }, caption),
    h("thead", { role: "rowgroup" }, head),
    h("tbody", { role: "rowgroup" }, ...body),
  );
}

/** What to do where there is nothing yet. */
export function empty(text: string, ...more: Child[]): HTMLElement {
  return h("div", { class: "empty" }, h("p", {}, text), ...more);
}

/** Terms and what they are. */
export function facts(...pairs: readonly (readonly [string, Child] | false)[]): HTMLElement {
  const shown = pairs.filter((pair): pair is readonly [string, Child] => pair !== false);
  return h("dl", { class: "facts" }, ...shown.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

export interface Count {
  readonly name: string;
  readonly label: Key;
  readonly value: number;
}

/** A row of large figures. */
export function counted(p: Phrases, ...counts: readonly (Count | false)[]): HTMLElement {
  const shown = counts.filter((count): count is Count => count !== false);
  const all = shown.map(({ name, label, value }) => h("div", { "data-count": name }, h("dt", {}, p.say(label)), h("dd", { class: "number" }, p.number(value))));
  return h("div", { class: "counts" }, h("dl", {}, ...all));
}

/** A link to hand over: as a code to scan, as text, as something to copy. */
export function handed(p: Phrases, { text, picture }: Handed, alt: string): HTMLElement {
  const image = picture === undefined ? h("div", { class: "qr", "aria-hidden": "true" }) : h("img", { class: "qr", src: picture, alt });
  return h(
    "div",
    { class: "handed" },
    image,
    h(
      "div",
      {},
      h("label", { for: "handed-text" }, p.say("desk.link")),
      h("input", { id: "handed-text", readonly: true, value: text, "data-copy": true }),
      button(p.say("desk.copy"), "copy", text),
    ),
  );
}

/** The state of a ticket: a word, and a dot in its colour. */
export function badge(p: Phrases, status: string): HTMLElement {
  return h("span", { class: "badge", "data-status": status }, p.word("desk.status", status));
}
