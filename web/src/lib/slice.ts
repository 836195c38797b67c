// SPDX-License-Identifier: Apache-2.0
// A line of cells through one cell, along one axis.
import { type Atlas, type Mark, markOf, type Point, slotAt } from "./atlas";
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

/** The axis a slice runs along when nobody chose: the first of the preferred that the campaign has. */
export function sliceAxis(live: readonly number[], chosen: number, x: number): number {
  return live.includes(chosen) ? chosen : x >= 0 ? x : (live[0] ?? -1);
}
