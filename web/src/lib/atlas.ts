// SPDX-License-Identifier: Apache-2.0
// The campaign as the views see it: rows in typed arrays, and which row stands at a point of the sweep.

import { type Signal, signal } from "@preact/signals";
import { type Codes, integers, openValues, type Texts, texts, type Values } from "./decode";
import { type Latencies, NO_LATENCIES } from "./latencies";
import { type Axis, type Cells, type Dictionary, type ReportData, UnmeasuredCode } from "./report-data.gen";

/** A position on every axis, in the order of `Atlas.axes`; -1 on derived axes, which nobody navigates. */
export type Point = readonly number[];

/** What stands at a point: a row of the result (row + 1), an unmeasured cell (-(row) - 1), or 0: no such cell in the sweep. */
export type Slot = number;

/** What is known of a cell, in words, in the order of the legend. */
export const MARK_WORDS = {
  steady: "measured, steady",
  predicted: "estimated",
  imported: "imported",
  wide: "measured, known to worse than ±50%",
  minimum: "measured, a minimum: the client was the limit",
  unstable: "measured, not steady",
  disagree: "beyond ±100%: a range, no rank",
  alike: "the same within the tolerance",
  undecided: "no difference shown",
  suspect: "measured, suspect",
  unmeasured: "not measured",
  inadmissible: "not admissible",
  absent: "not in the sweep",
};

export type Mark = keyof typeof MARK_WORDS;

/** Columns of texts of the cells, by their names in the page's data. */
type TextColumn = { [K in keyof Cells]: Cells[K] extends Dictionary ? K : never }[keyof Cells];

export interface Atlas {
  data: ReportData;
  axes: readonly Axis[];
  /** Level positions of each row, by axis. */
  levels: Codes[];
  nRows: number;
  values: Values;
  texts: Record<TextColumn, Texts>;
  nVisits: Codes;
  nDiscarded: Codes;
  /** Empty until the first picture stands. */
  latencies: Signal<Latencies>;
  unmeasuredLevels: Codes[];
  reason: Texts;
  /** How each row is marked, and each cell without an estimate. */
  marks: Mark[];
  unmeasuredMarks: Mark[];
  strides: number[];
  /** By cell number; none where no cell of the sweep is. */
  slots: Readonly<Record<number, Slot>>;
  /** Points of the crossed axes that are no cell of the sweep. */
  nAbsent: number;
  /** Rows at a point besides the one the map shows (a prediction beside its measurement). */
  others: Map<number, number[]>;
}

/** Cells up to which their slots are an array, not sparse. */
const FULL_ARRAY_LIMIT = 8_000_000;
const RANK: Record<string, number> = { measured: 0, imported: 1, predicted: 2 };

/** Unpacks the page's data. Fails on a format or version this page does not know. */
export async function openAtlas(data: ReportData): Promise<Atlas> {
  if (data.format !== "ioatlas-report" || data.version !== 1) {
    throw new Error(`the page's data has the format ${data.format} ${data.version}, which this explorer does not know`);
  }
  const { cells, unmeasured, axes } = data;
  const levels = await Promise.all(cells.axes.map(integers));
  const unmeasuredLevels = await Promise.all(unmeasured.axes.map(integers));
  const packed = Object.entries(cells).filter(([, column]) => isDictionary(column)) as [TextColumn, Dictionary][];
  const unpacked = await Promise.all(packed.map(async ([name, column]) => [name, await texts(column)] as const));
  const told = Object.fromEntries(unpacked) as Record<TextColumn, Texts>;
  const [reason, code] = await Promise.all([texts(unmeasured.reason), texts(unmeasured.code)]);
  const [nVisits, nDiscarded] = await Promise.all([integers(cells.n_visits), integers(cells.n_discarded)]);
  const strides = new Array<number>(axes.length).fill(0);
  let size = 1;
  for (let a = axes.length - 1; a >= 0; a--) {
    const axis = axes[a];
    if (!axis || axis.derived) continue;
    strides[a] = size;
    size *= Math.max(1, axis.levels.length);
  }
  const slots: Record<number, Slot> = size <= FULL_ARRAY_LIMIT ? new Int32Array(size) : {};
  const others = new Map<number, number[]>();
  let filled = 0;
  const cellOf = (columns: Codes[], row: number) =>
    columns.reduce((cell, column, a) => cell + (strides[a] ?? 0) * (column[row] ?? 0), 0);
  for (let row = 0; row < unmeasured.n_rows; row++) {
    const cell = cellOf(unmeasuredLevels, row);
    if (!slots[cell]) filled++;
    slots[cell] = -row - 1;
  }
  for (let row = 0; row < cells.n_rows; row++) {
    const cell = cellOf(levels, row);
    const there = slots[cell] ?? 0;
    if (there > 0) {
      const better = (RANK[told.kind(row)] ?? 9) < (RANK[told.kind(there - 1)] ?? 9);
      others.set(cell, [...(others.get(cell) ?? []), better ? there - 1 : row]);
      if (!better) continue;
    }
    if (there === 0) filled++;
    slots[cell] = row + 1;
  }
  return {
    data,
    axes,
    levels,
    nRows: cells.n_rows,
    values: await openValues(cells, axes, levels),
    texts: told,
    nVisits,
    nDiscarded,
    latencies: signal(NO_LATENCIES),
    unmeasuredLevels,
    reason,
    // What was measured again is as steady as the rest; the cell tells both values.
    marks: Array.from({ length: cells.n_rows }, (_, row) => told.mark(row).replace("re-measured", "steady") as Mark),
    unmeasuredMarks: Array.from({ length: unmeasured.n_rows }, (_, row) =>
      code(row) === UnmeasuredCode.NOT_ADMISSIBLE ? "inadmissible" : "unmeasured",
    ),
    strides,
    slots,
    nAbsent: size - filled,
    others,
  };
}

const isDictionary = (column: unknown) => typeof column === "object" && column !== null && "codes" in column;

/** An axis that is there. */
export function axisAt(atlas: Atlas, a: number): Axis {
  const axis = atlas.axes[a];
  if (!axis) throw new Error(`the page's data has no axis ${a}`);
  return axis;
}

export function cellNumber(atlas: Atlas, point: Point): number {
  return point.reduce((cell, level, a) => cell + (atlas.strides[a] ?? 0) * Math.max(0, level), 0);
}

export function slotAt(atlas: Atlas, point: Point): Slot {
  return atlas.slots[cellNumber(atlas, point)] ?? 0;
}

/** Marks of values that rank nowhere: they have no colour, and no scale reaches to them. */
export const DOUBTED: ReadonlySet<Mark> = new Set(["unstable", "disagree", "suspect"]);

export function markOf(atlas: Atlas, slot: Slot): Mark {
  if (slot === 0) return "absent";
  return (slot > 0 ? atlas.marks[slot - 1] : atlas.unmeasuredMarks[-slot - 1]) ?? "suspect";
}

export function pointOfRow(atlas: Atlas, row: number): Point {
  return atlas.axes.map((axis, a) => (axis.derived ? -1 : (atlas.levels[a]?.[row] ?? 0)));
}

/** The value of an option, role or pseudo axis for the cell at a slot; undefined when no axis has that name. */
export function levelAt(atlas: Atlas, slot: Slot, name: string): Axis["levels"][number] | undefined {
  const a = atlas.axes.findIndex((axis) => axis.name === name);
  if (a < 0 || slot === 0) return undefined;
  const code = slot > 0 ? atlas.levels[a]?.[slot - 1] : atlas.unmeasuredLevels[a]?.[-slot - 1];
  return atlas.axes[a]?.levels[code ?? -1];
}

/** An option of the cell wherever it is set: on an axis, or constant. */
export function optionAt(atlas: Atlas, slot: Slot, name: string): string | number | undefined {
  const level = levelAt(atlas, slot, name);
  if (level !== undefined) return level ?? undefined;
  return atlas.data.constants.find((pair) => pair.name === name)?.value;
}

/** Axes one can move along: more than one level, and not implied by others. */
export function liveAxes(atlas: Atlas): number[] {
  return atlas.axes.flatMap((axis, a) => (!axis.derived && axis.levels.length > 1 ? [a] : []));
}
