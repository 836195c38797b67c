// SPDX-License-Identifier: Apache-2.0
// A line of cells through one cell, along one axis.
import { type Atlas, type Mark, markOf, type Point, slotAt, textAt } from "./atlas";
import { boundsAt, type Reading, valueAt } from "./quantities";

export interface SlicePoint {
  level: number;
  mark: Mark;
  value: number;
  low: number;
  high: number;
}

/** One entry for each level of the axis; NaN where there is no value. */
export function slice(atlas: Atlas, reading: Reading, through: Point, axis: number): SlicePoint[] {
  const levels = atlas.axes[axis]?.levels.length ?? 0;
  return Array.from({ length: levels }, (_, level) => {
    const slot = slotAt(
      atlas,
      through.map((l, a) => (a === axis ? level : l)),
    );
    const [low, high] = boundsAt(reading, slot);
    return { level, mark: markOf(atlas, slot), value: valueAt(reading, slot), low, high };
  });
}

/** The bound of the path at each level of a slice and its name, in the slice's own quantity; NaN where none is known or it bounds something else. */
export function ceilings(
  atlas: Atlas,
  reading: Reading,
  through: Point,
  axis: number,
): { names: string[]; values: number[] } {
  const values: number[] = [];
  const names: string[] = [];
  for (let level = 0; level < (atlas.axes[axis]?.levels.length ?? 0); level++) {
    const row =
      slotAt(
        atlas,
        through.map((l, a) => (a === axis ? level : l)),
      ) - 1;
    const bound = row >= 0 ? atlas.values.at("ceiling_bytes_per_s", row) : Number.NaN;
    const share = row >= 0 ? valueAt(reading, row + 1) / atlas.values.at("bw_bytes_per_s", row) : Number.NaN;
    const known = BOUNDED.has(reading.quantity.id) && Number.isFinite(bound * share);
    values.push(known ? bound * share : Number.NaN);
    names.push(known ? textAt(atlas.ceiling, row) : "");
  }
  return { names, values };
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
