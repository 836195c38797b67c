// SPDX-License-Identifier: Apache-2.0
// What the map can show of a cell: the value, its interval, and how to write it.
import { type Atlas, optionAt, type Slot } from "./atlas";
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

const NONE = new Float64Array(0);

function extentOf(values: Float64Array): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high && v < Number.POSITIVE_INFINITY) high = v;
  }
  return low <= high ? [low, high] : [0, 1];
}

export function reading(atlas: Atlas, quantity: Quantity): Reading {
  const column = (name: string) => atlas.values.get(name) ?? NONE;
  let [value, low, high] = quantity.columns.map(column) as [Float64Array, Float64Array, Float64Array];
  if (quantity.id === "per_job") {
    const jobs = new Float64Array(atlas.nRows).map((_, row) => Number(optionAt(atlas, row + 1, "numjobs") ?? 1) || 1);
    const share = (v: number, row: number) => v / (jobs[row] ?? 1);
    [value, low, high] = [value.map(share), low.map(share), high.map(share)];
  } else if (quantity.id === "width") {
    const centre = value;
    const [from, to] = [low, high];
    value = centre.map((v, row) => ((to[row] ?? Number.NaN) - (from[row] ?? Number.NaN)) / v);
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
