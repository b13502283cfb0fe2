// A calendar entry (RFC 5545), made in the page: nothing of it leaves the phone.

import type { Offer } from "./answers.js";
import type { Words } from "./words.js";

/** What to enter; times are RFC 3339 or milliseconds. */
export interface Entry {
  readonly uid: string;
  readonly title: string;
  readonly text: string;
  readonly place: string;
  readonly begins: string;
  readonly ends: string;
  /** When the entry was made. */
  readonly made: number;
}

/** The text of an .ics file with one entry and a reminder at its beginning. */
export function calendar(entry: Entry): string {
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Portillon//Wallet//EN",
    "BEGIN:VEVENT",
    `UID:${entry.uid}`,
    `DTSTAMP:${stamp(entry.made)}`,
    `DTSTART:${stamp(entry.begins)}`,
    `DTEND:${stamp(entry.ends)}`,
    `SUMMARY:${escaped(entry.title)}`,
    `DESCRIPTION:${escaped(entry.text)}`,
    `LOCATION:${escaped(entry.place)}`,
    "BEGIN:VALARM",
    "ACTION:DISPLAY",
    `DESCRIPTION:${escaped(entry.title)}`,
    "TRIGGER:PT0S",
    "END:VALARM",
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map(folded).join("\r\n") + "\r\n";
}

function stamp(time: string | number): string {
  return new Date(time).toISOString().replace(/[-:]|\.\d+/g, "");
}

/** RFC 5545, section 3.3.11. */
function escaped(text: string): string {
  return text.replace(/[\\;,]/g, "\\$&").replace(/\r?\n/g, "\\n");
}

/** Lines of at most 75 octets, cut between characters (RFC 5545, section 3.1). */
function folded(line: string): string {
  const size = (text: string) => new TextEncoder().encode(text).length;
  let out = "";
  let length = 0;
  for (const char of line) {
    if (length + size(char) > 75) {
      out += "\r\n ";
      length = 1;
    }
    out += char;
    length += size(char);
  }
  return out;
}

/** An entry for the moment from which a link's tickets may be claimed. The link is left out: calendars are shared. */
export function claimEntry({ event, claim_from, server_time }: Offer, words: Words): Entry {
  return {
    uid: `${event.event}-claim@portillon`,
    title: words.say("wallet.calendar_title", { event: event.name }),
    text: words.say("wallet.calendar_text"),
    place: event.venue_name,
    begins: claim_from,
    ends: new Date(Date.parse(claim_from) + 15 * 60_000).toISOString(),
    made: Date.parse(server_time),
  };
}

/** Hands a calendar file to the browser, which offers to add it or to save it. */
export function download(text: string, name: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/calendar" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
