// SPDX-License-Identifier: Apache-2.0
// What the map can show of a cell: the value, its interval, and how to write it.
import { type Atlas, DOUBTED, type Mark, type Slot } from "./atlas";
import type { Reader } from "./decode";
import { count, latency, percent, rate, rateUnit, significant, type UnitSystem } from "./units";

export type QuantityId = "throughput" | "iops" | "lat_mean" | "lat_p99" | "per_job" | "width" | "change";

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

/** Beyond ±100 % the runs disagree, and a number says nothing. */
const WIDEST = 2;

function widthText(width: number): string {
  return width > WIDEST ? `over ${percent(WIDEST)}` : percent(width);
}

/** A ratio as people say it: "+12%", "−5%", and beyond a doubling "2.4 times". */
export function changeText(ratio: number): string {
  if (!Number.isFinite(ratio)) return "–";
  if (ratio >= 2) return `${ratio.toPrecision(3)} times`;
  const share = Math.round((ratio - 1) * 1000) / 10;
  const digits = Math.abs(share) < 10 ? share.toFixed(1) : share.toFixed(0);
  return `${share > 0 ? "+" : share < 0 ? "\u2212" : "±"}${digits.replace("-", "")}%`;
}

const THROUGHPUT = ["bw_bytes_per_s", "bw_low", "bw_high"] as const;
const of = (name: string, unit = "") => [name + unit, `${name}_low${unit}`, `${name}_high${unit}`] as const;

export const QUANTITIES: readonly Quantity[] = [
  { id: "throughput", label: "Throughput", columns: THROUGHPUT, format: rate, inBytes: true },
  { id: "iops", label: "IOPS", columns: of("iops"), format: count, inBytes: false },
  { id: "lat_mean", label: "Mean latency", columns: of("lat_mean", "_ns"), format: latency, inBytes: false },
  { id: "lat_p99", label: "p99 latency", columns: of("lat_p99", "_ns"), format: latency, inBytes: false },
  { id: "per_job", label: "Throughput per job", short: "… per job", columns: THROUGHPUT, format: rate, inBytes: true },
  { id: "change", label: "Change", columns: of("ratio"), format: changeText, inBytes: false },
  { id: "width", label: "Interval width", columns: THROUGHPUT, format: widthText, inBytes: false },
];

const has = (atlas: Atlas, name: string) => atlas.axes.some((axis) => axis.name === name);

/** Labels where calls are counted, not I/Os. */
function ownLabels(atlas: Atlas): Partial<Record<QuantityId, string>> {
  return countsCalls(atlas) ? { iops: "Operations/s", lat_mean: "Mean time", lat_p99: "p99 time" } : {};
}

/** Operations whose answer is calls a second: names and small files. */
function countsCalls(atlas: Atlas): boolean {
  const { headlines } = atlas.data.summary;
  return has(atlas, "operation") && headlines.length > 0 && headlines.every((one) => one.quantity === "iops");
}

/** All quantities, by the words that fit what this campaign counts. */
export function quantitiesOf(atlas: Atlas): readonly Quantity[] {
  const labels = ownLabels(atlas);
  return QUANTITIES.map((one) => ({ ...one, label: labels[one.id] ?? one.label }));
}

/** What the map opens on: bytes a second, or what the campaign counts instead. */
export function firstQuantity(atlas: Atlas): QuantityId {
  return atlas.values.has("iops") && (countsCalls(atlas) || !atlas.values.has("bw_bytes_per_s"))
    ? "iops"
    : "throughput";
}

/** How cells of one map are written: rates as bare numbers of one unit, which stands in the map's title. */
export function inOneUnit(quantity: Quantity, most: number, system: UnitSystem) {
  if (quantity.format !== rate) return { unit: "", text: (v: number) => quantity.format(v, system) };
  const { name, factor } = rateUnit(most, system);
  return { unit: name, text: (v: number) => significant(v / factor, v < factor ? 2 : 3) };
}

/** A quantity of every row: value and bounds, NaN where unknown. */
export interface Reading {
  quantity: Quantity;
  value: Float64Array;
  low: Float64Array;
  high: Float64Array;
  /** Smallest and largest finite value of all rows. */
  extent: readonly [number, number];
  /** How each row is marked, where this quantity has marks of its own. */
  marks?: readonly Mark[];
}

/** What is said of a change, by its code. */
const TOLD: readonly Mark[] = ["undecided", "steady", "alike", "predicted"];

function extentOf(values: Float64Array): readonly [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high && v < Number.POSITIVE_INFINITY) high = v;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** The number of jobs of each row is a level of an axis, or one number for all. */
function jobsReader(atlas: Atlas): (row: number) => number {
  const a = atlas.axes.findIndex((axis) => axis.name === "numjobs");
  const levels = (atlas.axes[a]?.levels ?? []).map((level) => Number(level ?? 1) || 1);
  const codes = atlas.levels[a];
  const all = Number(atlas.data.constants.find((pair) => pair.name === "numjobs")?.value ?? 1) || 1;
  return (row) => (codes ? (levels[codes[row] ?? 0] ?? 1) : all);
}

/** A quantity by row: value, lower and upper bound. */
export function reader(atlas: Atlas, { id, columns }: Quantity): Reader[] {
  const [value, low, high] = columns.map((name) => atlas.values.reader(name)) as [Reader, Reader, Reader];
  const none = () => Number.NaN;
  if (id === "width") return [(row) => (high(row) - low(row)) / value(row), none, none];
  if (id !== "per_job") return [value, low, high];
  const jobs = jobsReader(atlas);
  return [value, low, high].map((of) => (row) => of(row) / jobs(row));
}

export function reading(atlas: Atlas, quantity: Quantity): Reading {
  const all = (read: Reader) => Float64Array.from({ length: atlas.nRows }, (_, row) => read(row));
  const [value, low, high] = reader(atlas, quantity).map(all) as [Float64Array, Float64Array, Float64Array];
  if (quantity.id !== "change") {
    const sound = value.map((v, row) => (DOUBTED.has(atlas.marks[row] ?? "steady") ? Number.NaN : v));
    return { quantity, value, low, high, extent: extentOf(sound.some(Number.isFinite) ? sound : value) };
  }
  const marks = Array.from(all(atlas.values.reader("ratio_told")), (code) => TOLD[code] ?? "undecided");
  return { quantity, value, low, high, extent: aboutOne(value), marks };
}

/** As far below 1 as above it, so that no change stands in the middle of the scale. */
function aboutOne(ratios: Float64Array): readonly [number, number] {
  const [least, most] = extentOf(ratios.filter((v) => v > 0));
  const far = Math.max(1.05, most, 1 / least);
  return [1 / far, far];
}

/** Value and bounds at a slot; NaN where unknown. */
export function readAt({ value, low, high }: Reading, slot: Slot): { value: number; low: number; high: number } {
  const at = (column: Float64Array) => column[slot - 1] ?? Number.NaN;
  return { value: at(value), low: at(low), high: at(high) };
}
