// What a camera at a door meets that is not a ticket.

import { alphabet } from "./base45.js";
import { malformed, notATicket, parseGateCode, refused, unsupported, type Refusal, type What } from "./parse.js";

/** Names a text that has none of the prefixes of a ticket. */
export function foreign(text: string): Refusal {
  if (text.startsWith("PG1:")) {
    const code = parseGateCode(text);
    return refused(code) ? code : notATicket("gate_code");
  }
  if (isOtherVersion(text)) return unsupported;
  if (isMangled(text)) return malformed;
  if (/^https?:\/\//i.test(text)) return notATicket(whatLink(text));
  if (/^wifi:/i.test(text)) return notATicket("wifi");
  return notATicket(isArticleNumber(text) ? "ean" : "other");
}

/** Our prefix with a later digit and a body that could be ours: a newer wallet or printer. */
function isOtherVersion(text: string): boolean {
  return text.length >= 52 && /^P[TSK][2-9]:/.test(text) && [...text].every((char) => alphabet.includes(char));
}

/** Our codes behind a keyboard wedge with the wrong case or white space around: worth another try. */
function isMangled(text: string): boolean {
  const trimmed = text.trim();
  return trimmed === "" || /^P[TSKG]1:/i.test(trimmed) || trimmed.startsWith("eyJ");
}

/** Our links carry a secret in their fragment. The host is not compared: another installation's link deserves the same answer. */
function whatLink(link: string): What {
  const [before = "", ...fragment] = link.split("#");
  if (fragment.join("#") === "") return "link";
  const [path = ""] = before.split("?");
  switch (path.slice(path.lastIndexOf("/"))) {
    case "/w":
      return "claim_link";
    case "/gate":
      return "pairing_link";
    case "/desk":
      return "sign_in_link";
    default:
      return "link";
  }
}

/** GTIN-8, -12 and -13 by their check digit, so that a long ticket number is not called a bar code. */
function isArticleNumber(text: string): boolean {
  if (!/^(\d{8}|\d{12}|\d{13})$/.test(text)) return false;
  const sum = [...text].reduce((total, digit, i) => total + Number(digit) * ((text.length - i) % 2 === 0 ? 3 : 1), 0);
  return sum % 10 === 0;
}
