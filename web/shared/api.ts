// Calls to the server. Whatever goes wrong is one of two things: the server
// said no (Problem, with a stable code), or nobody knows (Unreachable, and the
// same call may be sent again with the same key).

/** The server refused: its problem document (RFC 9457). */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly fields: readonly Field[];
  /** Seconds to wait; 0 when the server did not say. */
  readonly retryAfter: number;

  constructor(answer: { status: number; retryAfter: number }, document: ProblemDocument & { code: string }) {
    super(document.code);
    this.status = answer.status;
    this.code = document.code;
    this.detail = document.detail ?? "";
    this.facts = document.facts ?? {};
    this.fields = document.fields ?? [];
    this.retryAfter = answer.retryAfter;
  }
}

/** One field at fault. */
export interface Field {
  readonly name: string;
  readonly code: string;
}

interface ProblemDocument {
  readonly code?: unknown;
  readonly detail?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly fields?: readonly Field[];
}

/** Why no answer of ours came. */
export type Cause = "network" | "timeout" | "not_ours" | "unavailable" | "aborted";

/** No answer of the server: nobody knows whether the call was carried out. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly why: Cause;
  readonly retryAfter: number;

  constructor(why: Cause, retryAfter = 0) {
    super(why);
    this.why = why;
    this.retryAfter = retryAfter;
  }
}

export interface CallOptions {
  /** Idempotency-Key, made once for what the call means. */
  readonly key?: string;
  /** A paired device's credential. */
  readonly token?: string;
  /** After this many milliseconds the call counts as unanswered. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** The call outlives the page (used when a page is left). */
  readonly keepalive?: boolean;
}

/** Makes one call and gives its answer; an answer without content gives undefined. */
export async function call<T>(method: "GET" | "POST" | "PATCH" | "DELETE", path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  const answer = await send(method, path, body, options);
  if (answer.status === 204) return undefined as T;
  if (!isJSON(answer)) throw new Unreachable("not_ours");
  const value: unknown = await answer.json().catch(() => {
    throw new Unreachable("network");
  });
  if (answer.ok) return value as T;
  throw refusal(answer, value);
}

/** Fetches bytes of a media type; an answer of another type does not come from our server. */
export async function download(path: string, type: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
  const answer = await send("GET", path, undefined, options, `${type}, application/problem+json`);
  const lost = () => {
    throw new Unreachable("network");
  };
  if (answer.ok && answer.headers.get("Content-Type")?.split(";")[0] === type) return new Uint8Array(await answer.arrayBuffer().catch(lost));
  if (answer.ok || !isJSON(answer)) throw new Unreachable("not_ours");
  throw refusal(answer, await answer.json().catch(lost));
}

async function send(method: string, path: string, body: unknown, options: CallOptions, accept = "application/json"): Promise<Response> {
  const headers = new Headers({ Accept: accept, "Accept-Language": document.documentElement.lang });
  if (body !== undefined) headers.set("Content-Type", "application/json");
  if (options.key !== undefined) headers.set("Idempotency-Key", options.key);
  if (options.token !== undefined) headers.set("Authorization", `Bearer ${options.token}`);
  const limit = AbortSignal.timeout(options.timeout ?? 15_000);
  const init: RequestInit = {
    method,
    headers,
    cache: "no-store",
    credentials: "same-origin",
    redirect: "error",
    keepalive: options.keepalive ?? false,
    signal: options.signal === undefined ? limit : AbortSignal.any([limit, options.signal]),
  };
  if (body !== undefined) init.body = JSON.stringify(body);
  try {
    return await fetch(path, init);
  } catch {
    if (limit.aborted) throw new Unreachable("timeout");
    throw new Unreachable(options.signal?.aborted === true ? "aborted" : "network");
  }
}

// A captive portal likes to answer 200 with its sign-in page.
function isJSON(answer: Response): boolean {
  const type = answer.headers.get("Content-Type") ?? "";
  return /^application\/(?:[\w.-]+\+)?json\b/.test(type);
}

function refusal(answer: Response, value: unknown): Error {
  const document = value as ProblemDocument;
  const retryAfter = Number(answer.headers.get("Retry-After") ?? 0) || 0;
  const code = document.code;
  if (typeof code !== "string") return new Unreachable("not_ours");
  if (answer.status === 503) return new Unreachable("unavailable", retryAfter);
  return new Problem({ status: answer.status, retryAfter }, { ...document, code });
}
