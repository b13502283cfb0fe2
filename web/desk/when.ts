// Wall clocks and moments. A showing is planned by the venue's clock wherever
// the laptop stands, so that every time goes through the venue's zone.

/** The day of a moment in a zone, as YYYY-MM-DD. */
export function dayIn(zone: string, at: Date): string {
  const part = parts(zone, at);
  return `${part.year}-${part.month}-${part.day}`;
}

/**
 * The moment at which the zone's clock shows a day and a time (HH:MM);
 * undefined when they are none. A time that the spring change leaps over is
 * taken an hour later, one that autumn has twice is the first.
 */
export function moment(zone: string, day: string, time: string): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || !/^\d{2}:\d{2}$/.test(time)) return undefined;
  const wall = Date.parse(`${day}T${time}:00Z`);
  if (Number.isNaN(wall)) return undefined;
  // Whatever the change of clocks, one of the offsets around it is right.
  const before = wall - offset(zone, wall - 86_400_000);
  const after = wall - offset(zone, wall + 86_400_000);
  const fits = (at: number) => at + offset(zone, at) === wall;
  return new Date([Math.min(before, after), Math.max(before, after)].find(fits) ?? Math.max(before, after));
}

/** Milliseconds by which the zone's clock is ahead of UTC at a moment. */
function offset(zone: string, at: number): number {
  const part = parts(zone, new Date(at));
  const wall = Date.parse(`${part.year}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}Z`);
  return wall - Math.floor(at / 1000) * 1000;
}

function parts(zone: string, at: Date): Readonly<Record<"year" | "month" | "day" | "hour" | "minute" | "second", string>> {
  const format = new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  const found = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const of = (name: string) => found[name] ?? "";
  return { year: of("year").padStart(4, "0"), month: of("month"), day: of("day"), hour: of("hour"), minute: of("minute"), second: of("second") };
}

export interface Showing {
  readonly doors: Date;
  readonly start: Date;
  readonly end: Date;
}

/**
 * Puts a showing together from its day and three times. A start before the
 * doors and an end not after the start are those of the following day: the
 * late film ends after midnight. Returns the names of what is missing instead.
 */
export function showing(zone: string, day: string, doors: string, start: string, end: string): Showing | readonly string[] {
  const opens = moment(zone, day, doors);
  const starts = moment(zone, start < doors ? next(day) : day, start);
  const startDay = start < doors ? next(day) : day;
  const ends = moment(zone, end <= start ? next(startDay) : startDay, end);
  if (opens !== undefined && starts !== undefined && ends !== undefined) return { doors: opens, start: starts, end: ends };
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return ["date"];
  const times = { doors_open_at: opens, starts_at: starts, ends_at: ends };
  return Object.entries(times).flatMap(([name, at]) => (at === undefined ? [name] : []));
}

function next(day: string): string {
  const at = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return day;
  at.setUTCDate(at.getUTCDate() + 1);
  return at.toISOString().slice(0, 10);
}

/** A part of the evening's programme. */
export type Part = "tonight" | "coming" | "over";

/** Where an event belongs: what runs now or opens today is tonight's. */
export function partOf(event: { readonly time_zone: string; readonly doors_open_at: string; readonly ends_at: string }, now: Date): Part {
  const doors = new Date(event.doors_open_at);
  if (new Date(event.ends_at) <= now) return "over";
  if (doors <= now || dayIn(event.time_zone, doors) === dayIn(event.time_zone, now)) return "tonight";
  return "coming";
}
