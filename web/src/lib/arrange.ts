// SPDX-License-Identifier: Apache-2.0
// Which axis goes where on the map when nobody has chosen yet.

import { type Atlas, liveAxes } from "./atlas";
import { groups } from "./groups";

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

/** Of imported sets: the axes along which the one with most rows has more than one level, and the sets' own; null where that leaves none. */
function variedInLargestSet(atlas: Atlas): Set<number> | null {
  const sets = atlas.axes.findIndex((axis) => axis.name === "target");
  const codes = atlas.levels[sets];
  if (atlas.data.imported_methods.length === 0 || !codes) return null;
  const [largest] = [...groups(codes, (code) => code)].sort((a, b) => b[1].length - a[1].length)[0] ?? [];
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
  const size = (a: number) => atlas.axes[a]?.levels.length ?? 0;
  const numeric = (a: number) => atlas.axes[a]?.numeric;
  /** The first of these axes, else the one with most levels; it is not free any more. -1 where none fits. */
  const take = (preferred: readonly string[], fits: (a: number) => unknown = () => true): number => {
    const usable = [...free].filter(fits).sort((a, b) => size(b) - size(a));
    const named = preferred.flatMap((name) => usable.filter((a) => atlas.axes[a]?.name === name));
    const chosen = named[0] ?? usable[0] ?? -1;
    free.delete(chosen);
    return chosen;
  };
  const takeNumber = (preferred: readonly string[]) => take(preferred, [...free].some(numeric) ? numeric : undefined);
  if (free.size === 1) return { x: take([]), y: -1, columns: -1, rows: -1 };
  if (bs !== undefined) free.delete(bs);
  // The sides of a comparison stand side by side.
  const side = atlas.data.comparison ? take([], (a) => atlas.axes[a]?.name === "target") : -1;
  const x = takeNumber(X_FIRST);
  const y = bs ?? takeNumber(Y_FIRST);
  const columns = side >= 0 ? side : take(COLUMNS_FIRST, numeric);
  const rows = take(ROWS_FIRST);
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
