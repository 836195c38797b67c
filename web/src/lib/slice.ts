// SPDX-License-Identifier: Apache-2.0
// A line of cells through one cell, along one axis.
import { type Atlas, type Mark, markOf, type Point, type Slot, slotAt } from "./atlas";
import { type Reading, readAt } from "./quantities";

export interface SlicePoint {
  level: number;
  mark: Mark;
  value: number;
  low: number;
  high: number;
}

/** Slots of the cells of a slice, one for each level of the axis. */
function slotsAlong(atlas: Atlas, through: Point, axis: number): Slot[] {
  return (atlas.axes[axis]?.levels ?? []).map((_, level) => slotAt(atlas, through.with(axis, level)));
}

/** One entry for each level of the axis; NaN where there is no value. */
export function slice(atlas: Atlas, reading: Reading, through: Point, axis: number): SlicePoint[] {
  return slotsAlong(atlas, through, axis).map((slot, level) => ({
    level,
    mark: markOf(atlas, slot),
    ...readAt(reading, slot),
  }));
}

/** The bound of the path at each level of a slice and its name, in the slice's own quantity; NaN where none is known or it bounds something else. */
export function ceilings(
  atlas: Atlas,
  reading: Reading,
  through: Point,
  axis: number,
): { names: string[]; values: number[] } {
  const slots = slotsAlong(atlas, through, axis);
  const values = slots.map((slot) => {
    const [bound, rate] = ["ceiling_bytes_per_s", "bw_bytes_per_s"].map((name) => atlas.values.at(name, slot - 1));
    const own = slot > 0 && BOUNDED.has(reading.quantity.id);
    return own ? ((bound ?? 0) * readAt(reading, slot).value) / (rate ?? 0) : Number.NaN;
  });
  return { values, names: slots.map((slot, i) => (Number.isFinite(values[i]) ? atlas.texts.ceiling(slot - 1) : "")) };
}

/** Quantities that a bound on throughput bounds too. */
const BOUNDED: ReadonlySet<string> = new Set(["throughput", "iops", "per_job"]);

/** The axis a slice runs along when nobody chose: the first of the preferred that the campaign has. */
export function sliceAxis(live: readonly number[], chosen: number, x: number): number {
  return live.includes(chosen) ? chosen : x >= 0 ? x : (live[0] ?? -1);
}

const JOINED: readonly Mark[] = ["steady", "wide", "unstable", "disagree", "minimum", "suspect", "imported"];

/** Runs of points that a line joins: measured neighbours only. Where a cell is predicted or missing there is a gap, and between words no line; another tool's set has its own levels, and its line goes on over those that only others have. */
export function joined(points: readonly SlicePoint[], numeric: boolean, unset = -1): SlicePoint[][] {
  const runs: SlicePoint[][] = [[]];
  const own = points.every((p) => p.mark === "imported" || p.mark === "absent");
  for (const p of points) {
    if (numeric && p.level !== unset && JOINED.includes(p.mark) && Number.isFinite(p.value)) runs.at(-1)?.push(p);
    else if (!own && runs.at(-1)?.length) runs.push([]);
  }
  return runs.filter((run) => run.length > 1);
}
