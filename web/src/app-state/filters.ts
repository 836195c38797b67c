// SPDX-License-Identifier: Apache-2.0
// Which values of each axis are seen. At least one of each axis is.
import { batch } from "@preact/signals";
import type { Atlas, Point } from "../lib/atlas";
import { type AppState, pin } from ".";

/** Levels that are not seen, by axis. */
export type Hidden = ReadonlyMap<number, ReadonlySet<number>>;

/** Levels of each axis that are seen, in order. */
export function seenLevels(atlas: Atlas, hidden: Hidden): readonly (readonly number[])[] {
  return atlas.axes.map((axis, a) =>
    axis.levels.map((_, level) => level).filter((level) => !hidden.get(a)?.has(level)),
  );
}

/** The position among the levels seen of the one that is nearest to a level. */
export function nearest(seen: readonly number[], level: number): number {
  const far = seen.map((each) => Math.abs(each - level));
  return Math.max(0, far.indexOf(Math.min(...far)));
}

export function isRowSeen(atlas: Atlas, hidden: Hidden, row: number): boolean {
  return [...hidden].every(([a, levels]) => !levels.has(atlas.levels[a]?.[row] ?? -1));
}

export function countHidden(hidden: Hidden): number {
  return [...hidden.values()].reduce((sum, levels) => sum + levels.size, 0);
}

/** Hides or shows one value of an axis; the last one that is seen stays. */
export function setSeen(state: AppState, axis: number, level: number, seen: boolean): void {
  const levels = new Set(state.hidden.value.get(axis));
  if (seen) levels.delete(level);
  else if ((state.seen.value[axis]?.length ?? 0) > 1) levels.add(level);
  hide(state, new Map([...state.hidden.value, [axis, levels]]));
}

/** Shows the values that rows stand at, whatever was hidden before. */
export function reveal(state: AppState, rows: readonly number[]): void {
  const { hidden, atlas } = state;
  const needed = (a: number) => new Set(rows.map((row) => atlas.levels[a]?.[row]));
  if (rows.every((row) => isRowSeen(atlas, hidden.value, row))) return;
  hide(
    state,
    new Map([...hidden.value].map(([a, levels]) => [a, new Set([...levels].filter((l) => !needed(a).has(l)))])),
  );
}

/** Hides these levels and no others. The cell looked at moves to the nearest one that is seen. */
export function hide(state: AppState, wanted: Hidden): void {
  const { atlas } = state;
  const hidden = new Map(
    [...wanted].filter(([a, levels]) => levels.size > 0 && levels.size < (atlas.axes[a]?.levels.length ?? 0)),
  );
  batch(() => {
    state.hidden.value = hidden;
    state.hovered.value = null;
    const seen = state.seen.value;
    const visible = (point: Point) =>
      point.map((level, a) => (hidden.has(a) ? (seen[a]?.[nearest(seen[a] ?? [], level)] ?? level) : level));
    const pinned = state.pinned.value;
    if (pinned) pin(state, visible(pinned));
    else state.fixed.value = visible(state.fixed.value);
  });
}
