// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, one signal each with its purpose; everything else is computed from these.
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CellPlace, Shape } from "../draw/layout";
import { type Arrangement, arrange, place, placed } from "../lib/arrange";
import { type Atlas, liveAxes, type Point, pointOfRow, type Slot, slotAt } from "../lib/atlas";
import type { PaletteName } from "../lib/palettes";
import { firstQuantity, type Quantity, type QuantityId, quantitiesOf, type Reading, reading } from "../lib/quantities";
import { fittingKind, makeScale, type Scale, type ScaleKind } from "../lib/scale";
import type { UnitSystem } from "../lib/units";
import { type Hidden, nearest, reveal, seenLevels } from "./filters";

export type ThemeChoice = "auto" | "light" | "dark";
export type View = "map" | "latency" | "time" | "table";

/** Thin lines that can still be told apart. */
const MOST_LINES = 8;

export interface AppState {
  atlas: Atlas;
  live: readonly number[];
  theme: Signal<ThemeChoice>;
  /** What the system asks for, used while `theme` is auto. */
  systemDark: Signal<boolean>;
  /** The page is being printed: always light. */
  printing: Signal<boolean>;
  dark: ReadonlySignal<boolean>;
  units: Signal<UnitSystem>;
  /** What the map is painted with: changes have colours of their own. */
  shownPalette: ReadonlySignal<PaletteName>;
  view: Signal<View>;
  quantityId: Signal<QuantityId>;
  /** null: whatever fits the quantity's values. */
  scaleChoice: Signal<ScaleKind | null>;
  arrangement: Signal<Arrangement>;
  /** The level at which each axis stands that is not on the map. */
  fixed: Signal<Point>;
  /** Levels that the reader does not want to see. */
  hidden: Signal<Hidden>;
  /** Levels of each axis that are seen. */
  seen: ReadonlySignal<readonly (readonly number[])[]>;
  /** The cell the pointer is over, or that has the keyboard's focus. */
  hovered: Signal<CellPlace | null>;
  /** Where the keyboard is on the map; a point of the sweep, so that it survives a change of axes. */
  cursor: Signal<Point>;
  /** The cell the details are of. */
  pinned: Signal<Point | null>;
  /** Rows outlined on the map: the evidence of a finding. */
  outlined: Signal<ReadonlySet<number>>;
  /** The axis slices run along; -1: the map's x. */
  sliceChoice: Signal<number>;
  /** The axis that has a thin line for each of its levels beside the slice; -1: none. */
  compareChoice: Signal<number>;
  quantity: ReadonlySignal<Quantity>;
  reading: ReadonlySignal<Reading>;
  scaleKind: ReadonlySignal<ScaleKind>;
  scale: ReadonlySignal<Scale>;
  shape: ReadonlySignal<Shape>;
  /** The pinned cell, moved along by the sliders. */
  pinnedPoint: ReadonlySignal<Point | null>;
  pinnedSlot: ReadonlySignal<Slot>;
}

export function makeState(atlas: Atlas, narrow: boolean): AppState {
  const live = liveAxes(atlas);
  const theme = signal<ThemeChoice>("auto");
  const systemDark = signal(false);
  const printing = signal(false);
  const quantityId = signal<QuantityId>(firstQuantity(atlas));
  const scaleChoice = signal<ScaleKind | null>(null);
  const arrangement = signal(forWidth(arrange(atlas), narrow));
  const start = bestPoint(atlas);
  const fixed = signal<Point>(start);
  const pinned = signal<Point | null>(start);
  const sets = severalImported(atlas, live);
  const hidden = signal<Hidden>(new Map());
  const seen = computed(() => seenLevels(atlas, hidden.value));
  const readings = new Map<QuantityId, Reading>();
  const all = quantitiesOf(atlas);
  const quantity = computed(() => all.find((q) => q.id === quantityId.value) ?? (all[0] as Quantity));
  const current = computed(() => {
    const known = readings.get(quantity.value.id);
    if (known) return known;
    const made = reading(atlas, quantity.value);
    readings.set(quantity.value.id, made);
    return made;
  });
  const scaleKind = computed(() =>
    quantityId.value === "change"
      ? "log"
      : (scaleChoice.value ?? fittingKind(current.value.value, current.value.extent)),
  );
  const pinnedPoint = computed(() => {
    const point = pinned.value;
    if (!point) return null;
    const onMap = new Set(placed(arrangement.value));
    return point.map((level, a) => (onMap.has(a) ? level : (fixed.value[a] ?? level)));
  });
  return {
    atlas,
    live,
    theme,
    systemDark,
    printing,
    dark: computed(() => !printing.value && (theme.value === "auto" ? systemDark.value : theme.value === "dark")),
    units: signal<UnitSystem>(atlas.data.units === "decimal" ? "si" : "iec"),
    shownPalette: computed(() => (quantityId.value === "change" ? "change" : "values")),
    view: signal<View>("map"),
    quantityId,
    scaleChoice,
    arrangement,
    fixed,
    hidden,
    seen,
    hovered: signal<CellPlace | null>(null),
    cursor: signal<Point>(start),
    pinned,
    outlined: signal<ReadonlySet<number>>(new Set()),
    sliceChoice: signal(sets >= 0 ? (live.find((a) => atlas.axes[a]?.numeric) ?? -1) : -1),
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
  const values = atlas.values.column("bw_bytes_per_s");
  let best = 0;
  values.forEach((v, row) => {
    if (v > (values[best] ?? 0) || Number.isNaN(values[best] ?? Number.NaN)) best = row;
  });
  if (atlas.nRows > 0) return pointOfRow(atlas, best);
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
  for (const [axis, level] of [
    [x, at.x],
    [y, at.y],
    [columns, at.column],
    [rows, at.row],
  ] as const) {
    if (axis >= 0) point[axis] = state.seen.value[axis]?.[level] ?? level;
  }
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
      if (state.pinned.value)
        pin(
          state,
          state.pinned.value.map((l, a) => (a === target ? (state.fixed.value[a] ?? l) : l)),
        );
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
  state.fixed.value = state.fixed.value.map((old, a) => (a === axis ? level : old));
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
