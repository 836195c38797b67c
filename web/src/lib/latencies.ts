// SPDX-License-Identifier: Apache-2.0
// Latency percentiles of the cells and their visits over time, unpacked.

import { integers, numbers, texts } from "./decode";
import { groups } from "./groups";
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
  if (packed.n === 0) return new Map();
  const [rows, starts, cuts, counts, ends, rates, latencies, purpose, verdict, discarded] = await Promise.all([
    integers(packed.row),
    integers(packed.started_seconds),
    integers(packed.cut_ms),
    integers(packed.n_points),
    integers(packed.end_ms),
    numbers(packed.bw_bytes_per_s),
    numbers(packed.lat_mean_ns),
    texts(packed.purpose),
    texts(packed.verdict),
    texts(packed.discarded),
  ]);
  let to = 0;
  const courses = [...counts].map((count, i): Course & { row: number } => {
    const from = to;
    to += count;
    // Nothing completed is no unknown: the packing has no code for 0.
    const part = (of: Float64Array) => Array.from(of.subarray(from, to), (v) => (Number.isNaN(v) ? 0 : v));
    return {
      row: rows[i] ?? 0,
      purpose: purpose(i),
      verdict: verdict(i),
      discarded: discarded(i),
      startedSeconds: starts[i] ?? 0,
      cutMs: cuts[i] ?? 0,
      endMs: [...ends.subarray(from, to)],
      rates: part(rates),
      latencies: part(latencies),
    };
  });
  return groups(courses, (course) => course.row);
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
