// The calls that the desk makes, each once, and what became of those that
// failed as data.

import { call, Problem, Unreachable } from "../shared/api.js";
import type { Category, Device, Event, Gate, Issued, List, Listed, Mail, Me, Pairing, Person, Printed, Report, Ticket, Token, Venue } from "./answers.js";
import type { Kept } from "./numbering.js";
import type { Handed, Trouble } from "./state.js";

const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal === undefined ? {} : { signal });
const post = <T>(path: string, body: unknown, key?: string) => call<T>("POST", path, body, key === undefined ? {} : { key });
const query = (members: Readonly<Record<string, string>>) => new URLSearchParams(Object.entries(members).filter(([, value]) => value !== "")).toString();

export const me = () => get<Me>("/v1/me");
export const signIn = (email: string, password: string, otp: string) => post<Me>("/v1/session", { email, password, otp });

// A link counts once; the key lets the same press in again when its answer was lost.
const linkKeys = new Map<string, string>();
const linkKey = (code: string): string => {
  const key = linkKeys.get(code) ?? crypto.randomUUID();
  linkKeys.set(code, key);
  return key;
};
export const signInByLink = (code: string, otp: string) => post<Me>("/v1/session/link", { code, otp }, linkKey(code));
export const signOut = () => call<void>("DELETE", "/v1/session");
export const setPassword = (password: string, current: string) => post<void>("/v1/me/password", { password, current });
export const setPIN = (pin: string) => post<void>("/v1/me/pin", { pin });

export const beginFactor = (current: string) => post<{ secret: string; uri: string }>("/v1/me/second-factor", { current });
export const confirmFactor = (code: string, key: string) => post<{ recovery_codes: readonly string[] }>("/v1/me/second-factor/confirm", { code }, key);
export const removeFactor = (current: string, otp: string) => post<void>("/v1/me/second-factor/remove", { current, otp });
export const resetFactor = (id: string) => post<Person>(`/v1/people/${id}/second-factor/remove`, {});

export const people = () => every<Person>((cursor) => get(`/v1/people?${query({ cursor })}`));
export const person = (id: string) => get<Person>(`/v1/people/${id}`);
export const addPerson = (body: object, key: string) => post<Person>("/v1/people", body, key);
export const changePerson = (id: string, change: object) => call<Person>("PATCH", `/v1/people/${id}`, change);
export const personLink = (id: string) => post<{ sign_in_link: string }>(`/v1/people/${id}/link`, {});
export const apiTokens = () => every<Token>((cursor) => get(`/v1/tokens?${query({ cursor })}`));
export const addToken = (body: object, key: string) => post<Token>("/v1/tokens", body, key);
export const endToken = (id: string) => post<Token>(`/v1/tokens/${id}/revoke`, {});

export const venues = () => every<Venue>((cursor) => get(`/v1/venues?${query({ cursor })}`));
export const addVenue = (name: string, zone: string, key: string) => post<Venue>("/v1/venues", { name, time_zone: zone }, key);
export const gates = async (venue: string) => (await get<List<Gate>>(`/v1/venues/${venue}/gates`)).items;
export const addGate = (venue: string, name: string, key: string) => post<Gate>(`/v1/venues/${venue}/gates`, { name }, key);

export const devices = (venue: string) => every<Device>((cursor) => get(`/v1/devices?${query({ venue, cursor })}`));
export const endDevice = (device: string) => post<Device>(`/v1/devices/${device}/revoke`, {});
export const pair = (venue: string, name: string, key: string) => post<Pairing>("/v1/pairings", { venue, name }, key);
export const pairing = (id: string) => get<Pairing>(`/v1/pairings/${id}`);
export const decide = (id: string, yes: boolean) => post<Pairing>(`/v1/pairings/${id}/${yes ? "confirm" : "refuse"}`, {});

export const events = (venue: string, from: string, cursor = "") => get<List<Event>>(`/v1/events?${query({ venue, from, cursor })}`);
export const event = (id: string) => get<Event>(`/v1/events/${id}`);
export const addEvent = (body: object, key: string) => post<Event>("/v1/events", body, key);
export const categories = async (id: string) => (await get<List<Category>>(`/v1/events/${id}/categories`)).items;
export const addCategory = (id: string, body: object, key: string) => post<Category>(`/v1/events/${id}/categories`, body, key);

export const tickets = (id: string, search: { readonly q?: string; readonly status?: string; readonly cursor?: string }, signal?: AbortSignal) =>
  get<List<Listed>>(`/v1/events/${id}/tickets?${query({ q: search.q ?? "", status: search.status ?? "", cursor: search.cursor ?? "" })}`, signal);
export const issue = (id: string, body: object, key: string) => post<Issued>(`/v1/events/${id}/tickets`, body, key);
export const report = (id: string, signal?: AbortSignal) => get<Report>(`/v1/events/${id}/report`, signal);

export const mails = (id: string, search: { readonly state?: string; readonly cursor?: string }, signal?: AbortSignal) =>
  get<List<Mail>>(`/v1/events/${id}/mails?${query({ state: search.state ?? "", cursor: search.cursor ?? "" })}`, signal);

/** The addresses of an event's files for a spreadsheet; the browser fetches them with the session that it has. */
export const files = (id: string, language: string): Readonly<Record<"tickets" | "attempts", string>> => ({
  tickets: `/v1/events/${id}/tickets.csv?${query({ flavour: "spreadsheet", lang: language })}`,
  attempts: `/v1/events/${id}/attempts.csv?${query({ flavour: "spreadsheet", lang: language })}`,
});
export const reserveNumber = (event: string) => post<Kept>(`/v1/events/${event}/numbers`, undefined);
export const renewNumber = (lease: string) => post<Kept>(`/v1/number-leases/${lease}/renew`, undefined);

/** Gives a number back, also while the page goes; nobody waits for the answer, and the lease would lapse by itself. */
export function releaseNumber(lease: string): void {
  call<void>("POST", `/v1/number-leases/${lease}/release`, undefined, { keepalive: true }).catch(() => undefined);
}

export const ticket = (id: string) => get<Ticket>(`/v1/tickets/${id}`);
export const change = (id: string, verb: "revoke" | "reinstate" | "hold" | "release" | "resend", reason: string, key: string) =>
  post<Ticket>(`/v1/tickets/${id}/${verb}`, { reason }, key);
export const showLink = (id: string) => post<{ claim_url: string }>(`/v1/tickets/${id}/link`, {});
export const reissue = (id: string, reason: string, key: string) => post<{ claim_url: string }>(`/v1/tickets/${id}/reissue`, { reason }, key);
export const print = (id: string, reason: string, key: string) => post<Printed>(`/v1/tickets/${id}/print`, { reason }, key);

/** All pages of a list that is short by nature; a thousand things are enough. */
async function every<T>(page: (cursor: string) => Promise<List<T>>): Promise<readonly T[]> {
  const all: T[] = [];
  let cursor = "";
  do {
    const { items, next } = await page(cursor);
    all.push(...items);
    cursor = next;
  } while (cursor !== "" && all.length < 1000);
  return all;
}

/** An SVG as an address for an image, which runs nothing of what may be in it. */
export function imageOf(svg: string): string {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}

/**
 * Draws a text as a QR symbol and gives an address for an image; undefined when
 * there is none to be had: a link without its picture is still a link.
 */
export async function picture(text: string): Promise<string | undefined> {
  try {
    const answer = await fetch("/v1/qr", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text }),
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(10_000),
    });
    const svg = answer.ok && answer.headers.get("Content-Type")?.startsWith("image/svg+xml") === true;
    return svg ? imageOf(await answer.text()) : undefined;
  } catch {
    return undefined;
  }
}

/** A link or a code together with its picture. */
export async function hand(text: string): Promise<Handed> {
  const drawn = await picture(text);
  return { text, ...(drawn !== undefined && { picture: drawn }) };
}

/** What an error of a call was. One that is none of a call's is a fault of ours and goes to the console. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof Problem) {
    const { code, detail, status, facts, fields, retryAfter } = error;
    return { code, detail, status, facts, fields, retryAfter };
  }
  if (!(error instanceof Unreachable)) console.error(error);
  const code = error instanceof Unreachable ? (error.why === "unavailable" ? "unavailable" : "unreachable") : "internal";
  return { code, detail: "", status: 0, facts: {}, fields: [], retryAfter: error instanceof Unreachable ? error.retryAfter : 0 };
}
