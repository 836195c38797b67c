// SPDX-License-Identifier: Apache-2.0
// What the map can show of a cell: the value, its interval, and how to write it.
import type { Atlas, Slot } from "./atlas";
import { count, latency, percent, rate, type UnitSystem } from "./units";

export type QuantityId = "throughput" | "iops" | "lat_mean" | "lat_p99" | "per_job" | "width";

export interface Quantity {
  id: QuantityId;
  label: string;
  /** The label where room is scarce. */
  short?: string;
  /** Columns of value, lower and upper bound. */
  columns: readonly [string, string, string];
  format(value: number, system: UnitSystem): string;
  /** Counted in bytes: round values are powers of 1024 in IEC units. */
  inBytes: boolean;
}

const THROUGHPUT = ["bw_bytes_per_s", "bw_low", "bw_high"] as const;

export const QUANTITIES: readonly Quantity[] = [
  { id: "throughput", label: "Throughput", columns: THROUGHPUT, format: rate, inBytes: true },
  { id: "iops", label: "IOPS", columns: ["iops", "iops_low", "iops_high"], format: count, inBytes: false },
  {
    id: "lat_mean",
    label: "Mean latency",
    columns: ["lat_mean_ns", "lat_mean_low_ns", "lat_mean_high_ns"],
    format: latency,
    inBytes: false,
  },
  {
    id: "lat_p99",
    label: "p99 latency",
    columns: ["lat_p99_ns", "lat_p99_low_ns", "lat_p99_high_ns"],
    format: latency,
    inBytes: false,
  },
  { id: "per_job", label: "Throughput per job", short: "… per job", columns: THROUGHPUT, format: rate, inBytes: true },
  { id: "width", label: "Interval width", columns: THROUGHPUT, format: percent, inBytes: false },
];

/** A quantity of every row: value and bounds, NaN where unknown. */
export interface Reading {
  quantity: Quantity;
  value: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** Smallest and largest finite value of all rows. */
  extent: readonly [number, number];
}

function extentOf(values: Float64Array): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high && v < Number.POSITIVE_INFINITY) high = v;
  }
  return low <= high ? [low, high] : [0, 1];
}

const NONE = new Float64Array(0);

/** The number of jobs of each row is a level of an axis, or one number for all. */
function jobsReader(atlas: Atlas): (row: number) => number {
  const a = atlas.axes.findIndex((axis) => axis.name === "numjobs");
  const levels = (atlas.axes[a]?.levels ?? []).map((level) => Number(level ?? 1) || 1);
  const codes = atlas.levels[a];
  const all = Number(atlas.data.constants.find((pair) => pair.name === "numjobs")?.value ?? 1) || 1;
  return (row) => (codes ? (levels[codes[row] ?? 0] ?? 1) : all);
}

/** A quantity of one row: value, lower and upper bound. */
export function readingAt(atlas: Atlas, quantity: Quantity, row: number): readonly [number, number, number] {
  const [value, low, high] = quantity.columns.map((name) => atlas.values.at(name, row)) as [number, number, number];
  if (quantity.id === "width") return [(high - low) / value, Number.NaN, Number.NaN];
  if (quantity.id !== "per_job") return [value, low, high];
  const jobs = jobsReader(atlas)(row);
  return [value / jobs, low / jobs, high / jobs];
}

export function reading(atlas: Atlas, quantity: Quantity): Reading {
  let [value, low, high] = quantity.columns.map((name) => atlas.values.column(name)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  if (quantity.id === "per_job") {
    const jobs = jobsReader(atlas);
    const share = (v: number, row: number) => v / jobs(row);
    [value, low, high] = [value.map(share), low.map(share), high.map(share)];
  } else if (quantity.id === "width") {
    const [from, to] = [low, high];
    value = value.map((v, row) => ((to[row] ?? Number.NaN) - (from[row] ?? Number.NaN)) / v);
    [low, high] = [NONE, NONE];
  }
  return { quantity, value, low, high, extent: extentOf(value) };
}

export function valueAt(of: Reading, slot: Slot): number {
  return slot > 0 ? (of.value[slot - 1] ?? Number.NaN) : Number.NaN;
}

export function boundsAt(of: Reading, slot: Slot): readonly [number, number] {
  return slot > 0 ? [of.low[slot - 1] ?? Number.NaN, of.high[slot - 1] ?? Number.NaN] : [Number.NaN, Number.NaN];
}
