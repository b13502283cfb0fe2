// The text form of a proof. It is read by cutting the template's fixed parts
// away; no JSON is interpreted, so no header is ever obeyed.

import { fromB64u, uuidOf } from "./bytes.js";
import type { Code } from "./code.js";
import { keyIDOf, malformed, notATicket, type Refusal } from "./parse.js";
import { plainHeader } from "./templates.js";

/** A little longer than the longest template, a claim. */
const longestText = 400;

/** Reads a compact JWS; the caller compares with what the result prints. */
export function parseText(text: string): Code | Refusal {
  const [header, claims, signature, more] = text.split(".");
  if (text.length > longestText || signature === undefined || more !== undefined) return malformed;
  const head = plain(header ?? "");
  const body = plain(claims ?? "");
  if (head === undefined || body === undefined) return malformed;
  const [, kid = "", typ = ""] = /^\{"alg":"ES256","kid":"([\w-]{23})","typ":"(ptt?\+jwt)"\}$/.exec(head) ?? [];
  if (typ === "") return other(head);
  const id = fromB64u(kid, 17);
  const signed = fromB64u(signature, 64);
  if (id === undefined || signed === undefined) return malformed;
  const common = { ...keyIDOf(id), signature: signed };
  return typ === "pt+jwt" ? withNonce(body, common) : withTime(body, common);
}

type Common = ReturnType<typeof keyIDOf> & { signature: Uint8Array<ArrayBuffer> };

function withNonce(claims: string, common: Common): Code | Refusal {
  const [, aud = "", value = ""] = /^\{"aud":"([\w-]{22})","nonce":"([\w-]{22})"\}$/.exec(claims) ?? [];
  const event = fromB64u(aud, 16);
  const nonce = fromB64u(value, 16);
  if (event === undefined || nonce === undefined) return malformed;
  return { kind: "nonce", ...common, nonce, audience: uuidOf(event) };
}

function withTime(claims: string, common: Common): Code | Refusal {
  const [, aud = "", value = ""] = /^\{"aud":"([\w-]{22})","iat":(0|[1-9]\d{0,9})\}$/.exec(claims) ?? [];
  const event = fromB64u(aud, 16);
  if (event === undefined || Number(value) > 0xffff_ffff) return malformed;
  return { kind: "time", ...common, issued_at: Number(value), audience: uuidOf(event) };
}

/** Our other signatures are no tickets; whatever else begins like a JWS is nothing. */
function other(header: string): Refusal {
  return ["pe+jwt", "pw+jwt", "px+jwt"].some((typ) => header === plainHeader(typ)) ? notATicket("other") : malformed;
}

/** A part's bytes as one character each: enough to compare with ASCII. */
function plain(part: string): string | undefined {
  const bytes = fromB64u(part);
  return bytes && Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}
