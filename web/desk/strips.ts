// Counts over time as data for a chart: one strip of bars for each answer, all
// over the same hours. Nothing here touches the document.

import type { ReasonCount, Report } from "./answers.js";

export interface Strip {
  readonly reason: string;
  readonly class: ReasonCount["class"];
  readonly attempts: number;
  readonly bars: readonly number[];
  /** The highest bar. */
  readonly most: number;
  /** The bucket of the highest bar, the first of several. */
  readonly at: number;
}

/** One strip for each answer, admissions first and then what was answered most. */
export function strips(reasons: readonly ReasonCount[]): readonly Strip[] {
  const all = reasons.map(({ reason, class: kind, attempts, over_time }): Strip => {
    const most = Math.max(0, ...over_time);
    return { reason, class: kind, attempts, bars: over_time, most, at: over_time.indexOf(most) };
  });
  const first = (strip: Strip) => (strip.class === "admit" ? 0 : 1);
  return all.sort((a, b) => first(a) - first(b) || b.attempts - a.attempts);
}

/** When a bucket begins. */
export function begins({ from, step_s }: Pick<Report, "from" | "step_s">, bucket: number): Date {
  return new Date(Date.parse(from) + bucket * step_s * 1000);
}

/** Moments to write under the axis: about so many, from the beginning on, each where a bucket begins. */
export function ticks({ from, to, step_s }: Pick<Report, "from" | "to" | "step_s">, about: number): readonly { readonly at: Date; readonly part: number }[] {
  const long = Date.parse(to) - Date.parse(from);
  const buckets = Math.max(1, Math.ceil(long / 1000 / step_s));
  const every = Math.max(1, Math.ceil(buckets / about));
  const count = Math.ceil(buckets / every);
  return Array.from({ length: count }, (_, at) => ({ at: begins({ from, step_s }, at * every), part: (at * every) / buckets }));
}

/** The buckets in which anything was answered, for a table. */
export function busy(reasons: readonly ReasonCount[]): readonly number[] {
  const buckets = reasons[0]?.over_time.length ?? 0;
  return Array.from({ length: buckets }, (_, at) => at).filter((at) => reasons.some(({ over_time }) => (over_time[at] ?? 0) > 0));
}
