// SPDX-License-Identifier: Apache-2.0
// Which axis goes where on the map when nobody has chosen yet.
import { type Atlas, liveAxes } from "./atlas";

/** Axis numbers on the four places of the map; -1: none. */
export interface Arrangement {
  x: number;
  y: number;
  columns: number;
  rows: number;
}

const X_FIRST = ["size", "iodepth", "numjobs", "rwmixread"];
const Y_FIRST = ["bs", "iodepth", "numjobs"];
const COLUMNS_FIRST = ["numjobs", "iodepth", "rwmixread"];
const ROWS_FIRST = ["iodepth", "numjobs", "rw", "direction", "target"];

function take(
  atlas: Atlas,
  free: Set<number>,
  preferred: readonly string[],
  numericOnly: boolean,
  anyOther: boolean,
): number {
  const usable = [...free].filter((a) => !numericOnly || atlas.axes[a]?.numeric);
  const named = preferred.map((name) => usable.find((a) => atlas.axes[a]?.name === name)).find((a) => a !== undefined);
  const chosen = named ?? (anyOther ? usable.sort((a, b) => levels(atlas, b) - levels(atlas, a))[0] : undefined);
  if (chosen === undefined) return -1;
  free.delete(chosen);
  return chosen;
}

function levels(atlas: Atlas, axis: number): number {
  return atlas.axes[axis]?.levels.length ?? 0;
}

/** Of imported sets: the axes along which the one with most rows has more than one level, and the sets' own; null where that leaves none. */
function variedInLargestSet(atlas: Atlas): Set<number> | null {
  const sets = atlas.axes.findIndex((axis) => axis.name === "target");
  const codes = atlas.levels[sets];
  if (atlas.data.imported_methods.length === 0 || !codes) return null;
  const counts = new Map<number, number>();
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1);
  const largest = [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
  const varied = atlas.axes
    .map((_, a) => a)
    .filter((a) => new Set((atlas.levels[a] ?? codes).filter((_, row) => codes[row] === largest)).size > 1);
  return varied.length > 0 ? new Set([...varied, sets]) : null;
}

/** File size across, block size up, tiles over the jobs and a second axis; with other axes, the nearest thing to it. */
export function arrange(atlas: Atlas): Arrangement {
  const free = new Set(liveAxes(atlas));
  // Other tools' sets cross few axes: those that the largest set does not vary would only thin the map.
  const within = variedInLargestSet(atlas);
  if (within) for (const a of free) if (!within.has(a)) free.delete(a);
  const bs = [...free].find((a) => atlas.axes[a]?.name === "bs");
  if (free.size === 1) return { x: take(atlas, free, [], false, true), y: -1, columns: -1, rows: -1 };
  if (bs !== undefined) free.delete(bs);
  // The sides of a comparison stand side by side.
  const side = atlas.data.comparison ? take(atlas, free, ["target"], false, false) : -1;
  let x = take(atlas, free, X_FIRST, true, true);
  if (x < 0) x = take(atlas, free, X_FIRST, false, true);
  let y = bs ?? take(atlas, free, Y_FIRST, true, true);
  if (y < 0) y = take(atlas, free, Y_FIRST, false, true);
  const columns = side >= 0 ? side : take(atlas, free, COLUMNS_FIRST, true, true);
  const rows = take(atlas, free, ROWS_FIRST, false, true);
  return columns < 0 && rows >= 0 ? { x, y, columns: rows, rows: -1 } : { x, y, columns, rows };
}

/** Puts an axis on a place; the axis that was there goes where the new one came from. */
export function place(arrangement: Arrangement, at: keyof Arrangement, axis: number): Arrangement {
  const next = { ...arrangement };
  const from = (Object.keys(next) as (keyof Arrangement)[]).find((key) => axis >= 0 && next[key] === axis);
  if (from && from !== at) next[from] = next[at];
  next[at] = axis;
  return next;
}

export function placed(arrangement: Arrangement): number[] {
  return [arrangement.x, arrangement.y, arrangement.columns, arrangement.rows].filter((a) => a >= 0);
}
