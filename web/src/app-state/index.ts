// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, one signal each with its purpose; everything else is computed from these.
import { batch, computed, signal } from "@preact/signals";
import type { CellPlace, Shape } from "../draw/layout";
import { type Arrangement, arrange, place, placed } from "../lib/arrange";
import { type Atlas, liveAxes, type Point, pointOfRow, slotAt } from "../lib/atlas";
import { PALETTES } from "../lib/palettes";
import { firstQuantity, type Quantity, type QuantityId, quantitiesOf, type Reading, reading } from "../lib/quantities";
import { fittingKind, makeScale, type ScaleKind } from "../lib/scale";
import type { UnitSystem } from "../lib/units";
import { type Hidden, nearest, reveal, seenLevels } from "./filters";

export type ThemeChoice = "auto" | "light" | "dark";
export type View = "map" | "latency" | "time" | "table";

/** Thin lines that can still be told apart. */
const MOST_LINES = 8;

export type AppState = ReturnType<typeof makeState>;

export function makeState(atlas: Atlas, narrow: boolean) {
  const live: readonly number[] = liveAxes(atlas);
  const theme = signal<ThemeChoice>("auto");
  /** What the system asks for, used while `theme` is auto. */
  const systemDark = signal(false);
  /** The page is being printed: always light. */
  const printing = signal(false);
  const quantityId = signal<QuantityId>(firstQuantity(atlas));
  /** null: whatever fits the quantity's values. */
  const scaleChoice = signal<ScaleKind | null>(null);
  const arrangement = signal(forWidth(arrange(atlas), narrow));
  const start = bestPoint(atlas);
  /** The level at which each axis stands that is not on the map. */
  const fixed = signal<Point>(start);
  /** The cell the details are of. */
  const pinned = signal<Point | null>(start);
  const sets = severalImported(atlas, live);
  /** Levels that the reader does not want to see, and of each axis those that are seen. */
  const hidden = signal<Hidden>(new Map());
  const seen = computed(() => seenLevels(atlas, hidden.value));
  const readings = new Map<QuantityId, Reading>();
  const all = quantitiesOf(atlas);
  const quantity = computed(() => all.find((q) => q.id === quantityId.value) ?? (all[0] as Quantity));
  const current = computed(() => {
    const known = readings.get(quantity.value.id) ?? reading(atlas, quantity.value);
    readings.set(quantity.value.id, known);
    return known;
  });
  const scaleKind = computed(() =>
    quantityId.value === "change"
      ? "log"
      : (scaleChoice.value ?? fittingKind(current.value.value, current.value.extent)),
  );
  /** The pinned cell, moved along by the sliders. */
  const pinnedPoint = computed((): Point | null => {
    const onMap = new Set(placed(arrangement.value));
    return pinned.value?.map((level, a) => (onMap.has(a) ? level : (fixed.value[a] ?? level))) ?? null;
  });
  return {
    atlas,
    live,
    theme,
    systemDark,
    printing,
    dark: computed(() => !printing.value && (theme.value === "auto" ? systemDark.value : theme.value === "dark")),
    units: signal<UnitSystem>(atlas.data.units === "decimal" ? "si" : "iec"),
    /** What the map is painted with: changes have colours of their own. */
    palette: computed(() => (quantityId.value === "change" ? PALETTES.change : PALETTES.values)),
    view: signal<View>("map"),
    quantityId,
    scaleChoice,
    arrangement,
    fixed,
    hidden,
    seen,
    /** The cell the pointer is over, or that has the keyboard's focus. */
    hovered: signal<CellPlace | null>(null),
    /** Where the keyboard is on the map; a point of the sweep, so that it survives a change of axes. */
    cursor: signal<Point>(start),
    pinned,
    /** Rows outlined on the map: the evidence of a finding. */
    outlined: signal<ReadonlySet<number>>(new Set()),
    /** The axis slices run along; -1: the map's x. */
    sliceChoice: signal(sets >= 0 ? (live.find((a) => atlas.axes[a]?.numeric) ?? -1) : -1),
    /** The axis that has a thin line for each of its levels beside the slice; -1: none. */
    compareChoice: signal(sets),
    quantity,
    reading: current,
    scaleKind,
    scale: computed(() => makeScale(scaleKind.value, ...current.value.extent)),
    shape: computed(() => shapeOf(seen.value, arrangement.value)),
    pinnedPoint,
    pinnedSlot: computed(() => (pinnedPoint.value ? slotAt(atlas, pinnedPoint.value) : 0)),
  };
}

/** Imported sets are there to be seen beside each other: the target's axis, where it can be navigated. */
function severalImported(atlas: Atlas, live: readonly number[]): number {
  const several = atlas.data.imported_methods.length > 0 && atlas.data.imported_methods.length <= MOST_LINES;
  return several ? (live.find((a) => atlas.axes[a]?.name === "target") ?? -1) : -1;
}

/** On a narrow screen one tile axis flows over several lines; the other becomes a slider. */
function forWidth(arrangement: Arrangement, narrow: boolean): Arrangement {
  return narrow && arrangement.columns >= 0 && arrangement.rows >= 0 ? { ...arrangement, rows: -1 } : arrangement;
}

/** Where the page opens: the cell of the first number, else that of the first finding, else the fastest one. */
function bestPoint(atlas: Atlas): Point {
  const { findings, summary } = atlas.data;
  const named = summary.headlines[0]?.row ?? findings.find((finding) => finding.rows.length > 0)?.rows[0];
  if (named !== undefined) return pointOfRow(atlas, named);
  const value = atlas.values.reader("bw_bytes_per_s");
  const rows = [...Array(atlas.nRows).keys()].filter((row) => !Number.isNaN(value(row)));
  const fastest = rows.reduce((best, row) => (value(row) > value(best) ? row : best), rows[0] ?? 0);
  if (atlas.nRows > 0) return pointOfRow(atlas, fastest);
  return atlas.axes.map((axis) => (axis.derived ? -1 : 0));
}

function shapeOf(seen: readonly (readonly number[])[], { x, y, columns, rows }: Arrangement): Shape {
  const n = (axis: number) => (axis < 0 ? 1 : (seen[axis]?.length ?? 1));
  return { nx: n(x), ny: n(y), columns: n(columns), rows: n(rows), flow: columns < 0 !== rows < 0 };
}

/** The point of the sweep at a place on the map. */
export function pointAt(state: AppState, at: CellPlace): Point {
  const { x, y, columns, rows } = state.arrangement.value;
  const point = [...state.fixed.value];
  const put = (axis: number, level: number) => {
    if (axis >= 0) point[axis] = state.seen.value[axis]?.[level] ?? level;
  };
  put(x, at.x);
  put(y, at.y);
  put(columns, at.column);
  put(rows, at.row);
  return point;
}

/** The place on the map of a point of the sweep (of its projection, when a slider stands elsewhere). */
export function placeOf(state: AppState, point: Point): CellPlace {
  const { x, y, columns, rows } = state.arrangement.value;
  const at = (axis: number) => (axis < 0 ? 0 : nearest(state.seen.value[axis] ?? [], point[axis] ?? 0));
  return { x: at(x), y: at(y), column: at(columns), row: at(rows) };
}

export function placeAxis(state: AppState, at: keyof Arrangement, axis: number): void {
  batch(() => {
    // An axis that leaves the map stays at the pinned cell's level.
    if (state.pinnedPoint.value) state.fixed.value = state.pinnedPoint.value;
    state.arrangement.value = place(state.arrangement.value, at, axis);
    state.hovered.value = null;
  });
}

/**
 * Shows another quantity. Of two campaigns a change is one map, the second one's, so that their axis leaves the tiles
 * meanwhile; of more it is one map for each but the first.
 */
export function chooseQuantity(state: AppState, id: QuantityId): void {
  const { atlas } = state;
  const target = sideAxis(atlas);
  batch(() => {
    const before = state.quantityId.value;
    state.quantityId.value = id;
    state.scaleChoice.value = null;
    const several = (atlas.data.comparison?.second.length ?? 0) > 1;
    if (target < 0 || several || (id === "change") === (before === "change")) return;
    const { arrangement } = state;
    if (id === "change") {
      const at = (Object.keys(arrangement.value) as (keyof Arrangement)[]).find((k) => arrangement.value[k] === target);
      if (at) arrangement.value = { ...arrangement.value, [at]: -1 };
      setLevel(state, target, atlas.axes[target]?.levels.indexOf(atlas.data.comparison?.second[0] ?? "") ?? 0);
      if (state.pinned.value) pin(state, state.pinned.value.with(target, state.fixed.value[target] ?? 0));
    } else if (!placed(arrangement.value).includes(target)) {
      const free = (["columns", "rows"] as const).find((k) => arrangement.value[k] < 0);
      if (free) arrangement.value = { ...arrangement.value, [free]: target };
    }
  });
}

/** The axis of the sides of a comparison; -1 in a page of one. */
export function sideAxis(atlas: Atlas): number {
  return atlas.data.comparison ? atlas.axes.findIndex((axis) => axis.name === "target") : -1;
}

export function setLevel(state: AppState, axis: number, level: number): void {
  state.fixed.value = state.fixed.value.with(axis, level);
}

export function pin(state: AppState, point: Point): void {
  batch(() => {
    state.fixed.value = point;
    state.pinned.value = point;
    state.cursor.value = point;
  });
}

/** Shows a row on the map, pins it, and outlines the rows it is named with. */
export function showRows(state: AppState, rows: readonly number[]): void {
  const first = rows[0];
  if (first === undefined) return;
  batch(() => {
    state.view.value = "map";
    state.outlined.value = new Set(rows);
    reveal(state, rows);
    pin(state, pointOfRow(state.atlas, first));
  });
}
