// SPDX-License-Identifier: Apache-2.0
// Latency percentiles of the cells and their visits over time, unpacked.
import { integers, numbers, texts } from "./decode";
import type { ReportData } from "./report-data.gen";

/** Latencies of one row at the percents of the page, NaN where too few I/Os lie beyond. */
export interface LatencyCurve {
  nIos: number;
  latencies: Float64Array;
}

/** One visit to a row: what moved in each interval since its load began. */
export interface Course {
  purpose: string;
  verdict: string;
  /** Why it does not count; empty when it does. */
  discarded: string;
  startedSeconds: number;
  /** End of the warm-up that was cut; 0 when nothing was. */
  cutMs: number;
  endMs: number[];
  rates: number[];
  latencies: number[];
}

export interface Latencies {
  percents: readonly number[];
  curves: ReadonlyMap<number, LatencyCurve>;
  courses: ReadonlyMap<number, readonly Course[]>;
}

export const NO_LATENCIES: Latencies = { percents: [], curves: new Map(), courses: new Map() };

export async function openLatencies({ latency_curves, time_courses }: ReportData): Promise<Latencies> {
  const [curves, courses] = await Promise.all([openCurves(latency_curves), openCourses(time_courses)]);
  return { percents: latency_curves.percents, curves, courses };
}

async function openCurves(packed: ReportData["latency_curves"]): Promise<Map<number, LatencyCurve>> {
  if (packed.n === 0) return new Map();
  const [rows, nIos, all] = [await integers(packed.row), await numbers(packed.n_ios), await numbers(packed.latencies)];
  const n = packed.percents.length;
  return new Map([...rows].map((row, i) => [row, { nIos: nIos[i] ?? 0, latencies: all.slice(i * n, (i + 1) * n) }]));
}

async function openCourses(packed: ReportData["time_courses"]): Promise<Map<number, Course[]>> {
  const courses = new Map<number, Course[]>();
  if (packed.n === 0) return courses;
  const [rows, starts, cuts, counts, ends] = await Promise.all(
    [packed.row, packed.started_seconds, packed.cut_ms, packed.n_points, packed.end_ms].map(integers),
  );
  const [rates, latencies] = await Promise.all([packed.bw_bytes_per_s, packed.lat_mean_ns].map(numbers));
  const [purposes, verdicts, reasons] = await Promise.all(
    [packed.purpose, packed.verdict, packed.discarded].map(texts),
  );
  if (!rows || !cuts || !counts || !ends || !starts || !rates || !latencies || !purposes || !verdicts || !reasons) {
    return courses;
  }
  let from = 0;
  rows.forEach((row, i) => {
    const to = from + (counts[i] ?? 0);
    // Nothing completed is no unknown: the packing has no code for 0.
    const part = (of: Float64Array) => Array.from(of.subarray(from, to), (v) => (Number.isNaN(v) ? 0 : v));
    const course = {
      purpose: purposes(i),
      verdict: verdicts(i),
      discarded: reasons(i),
      startedSeconds: starts[i] ?? 0,
      cutMs: cuts[i] ?? 0,
      endMs: [...ends.subarray(from, to)],
      rates: part(rates),
      latencies: part(latencies),
    };
    courses.set(row, [...(courses.get(row) ?? []), course]);
    from = to;
  });
  return courses;
}

/** Where a percentile stands along the axis: as many steps for 90 to 99 as for 99 to 99.9, as tails are read. */
export function placeOfPercent(percent: number): number {
  return -Math.log10(1 - percent / 100);
}

/** Longest run of intervals in which nothing completed, in milliseconds; 0 when there is none. */
export function longestStallMs(course: Course): number {
  let longest = 0;
  let run = 0;
  course.rates.forEach((rate, i) => {
    const width = (course.endMs[i] ?? 0) - (course.endMs[i - 1] ?? 0);
    run = rate > 0 ? 0 : run + width;
    longest = Math.max(longest, run);
  });
  return longest;
}
