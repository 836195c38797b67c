// SPDX-License-Identifier: Apache-2.0
// Cells without an estimate, grouped by the reason given.
import type { Atlas } from "./atlas";
import type { Axis } from "./report-data.gen";

export interface Reason {
  reason: string;
  n: number;
  /** Which levels these cells have, on the axes where they do not have all. */
  where: { axis: Axis; levels: Axis["levels"] }[];
}

export function reasons(atlas: Atlas): Reason[] {
  const { n_rows } = atlas.data.unmeasured;
  const groups = new Map<number, { n: number; seen: Set<number>[] }>();
  for (let row = 0; row < n_rows; row++) {
    const code = atlas.reason.codes[row] ?? 0;
    let group = groups.get(code);
    if (!group) {
      group = { n: 0, seen: atlas.axes.map(() => new Set()) };
      groups.set(code, group);
    }
    group.n++;
    for (let a = 0; a < atlas.axes.length; a++) group.seen[a]?.add(atlas.unmeasuredLevels[a]?.[row] ?? 0);
  }
  return [...groups.entries()]
    .map(([code, { n, seen }]) => ({
      reason: atlas.reason.texts[code] ?? "",
      n,
      where: atlas.axes.flatMap((axis, a) => {
        const levels = axis.levels.filter((_, level) => seen[a]?.has(level));
        return axis.derived || levels.length === axis.levels.length ? [] : [{ axis, levels }];
      }),
    }))
    .sort((a, b) => b.n - a.n);
}
