// SPDX-License-Identifier: Apache-2.0
// Cells without an estimate, grouped by the reason given.

import type { Atlas } from "./atlas";
import { groups } from "./groups";
import type { Axis } from "./report-data.gen";

export interface Reason {
  reason: string;
  n: number;
  /** Which levels these cells have, on the axes where they do not have all. */
  where: { axis: Axis; levels: Axis["levels"] }[];
}

export function reasons(atlas: Atlas): Reason[] {
  return [...groups(atlas.unmeasuredMarks.keys(), atlas.reason)]
    .map(([reason, rows]) => ({
      reason,
      n: rows.length,
      where: atlas.axes.flatMap((axis, a) => {
        const seen = new Set(rows.map((row) => atlas.unmeasuredLevels[a]?.[row]));
        const levels = axis.levels.filter((_, level) => seen.has(level));
        return axis.derived || levels.length === axis.levels.length ? [] : [{ axis, levels }];
      }),
    }))
    .sort((a, b) => b.n - a.n);
}
