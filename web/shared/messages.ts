// One catalogue for Go and the pages: flat keys, `{{.name}}` placeholders, and
// plural forms as objects of CLDR categories chosen by `count`.

import type english from "../locales/en.json";

/** A key of the catalogue. English is the list of record; the build refuses a language that differs. */
export type Key = keyof typeof english;

export type Message = string | Readonly<Record<string, string>>;
export type Catalogue = Readonly<Record<string, Message>>;
export type Values = Readonly<Record<string, string | number>>;

/** Says messages of one language. */
export class Messages {
  readonly language: string;
  readonly #catalogue: Catalogue;
  readonly #plural: Intl.PluralRules;
  readonly #numbers: Intl.NumberFormat;

  constructor(language: string, catalogue: Catalogue) {
    this.language = language;
    this.#catalogue = catalogue;
    this.#plural = new Intl.PluralRules(language);
    this.#numbers = new Intl.NumberFormat(language);
  }

  /**
   * The message for a key with its placeholders filled in. A plural message
   * takes its form from `values.count`. A key that is not there comes back as
   * itself: a controller with a strange word is better off than one with none.
   */
  say(key: Key, values: Values = {}): string {
    return this.look(key, values) ?? key;
  }

  /** As `say`, for keys that come from the server (reasons, problem codes); undefined when there is no such message. */
  look(key: string, values: Values = {}): string | undefined {
    const message = this.#catalogue[key];
    if (message === undefined) return undefined;
    return this.#fill(typeof message === "string" ? message : this.#form(message, values["count"]), values);
  }

  #form(forms: Readonly<Record<string, string>>, count: string | number | undefined): string {
    const category = this.#plural.select(Number(count ?? 0));
    return forms[category] ?? forms["other"] ?? "";
  }

  #fill(text: string, values: Values): string {
    return text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (whole, name: string) => {
      const value = values[name];
      if (value === undefined) return whole;
      return typeof value === "number" ? this.#numbers.format(value) : value;
    });
  }
}

/** Loads this page's messages in the language of the document. */
export async function loadMessages(language = document.documentElement.lang): Promise<Messages> {
  const address = PORTILLON_MESSAGES[language] ?? PORTILLON_MESSAGES["en"];
  if (address === undefined) throw new Error("this page was built without messages");
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`messages: ${answer.status}`);
  return new Messages(language, (await answer.json()) as Catalogue);
}
