// SPDX-License-Identifier: Apache-2.0
// The campaign as the views see it: rows in typed arrays, and which row stands at a point of the sweep.

import { type Signal, signal } from "@preact/signals";
import { type Codes, integers, packedTexts, Values } from "./decode";
import { type Latencies, NO_LATENCIES } from "./latencies";
import { type Axis, type Dictionary, type ReportData, UnmeasuredCode } from "./report-data.gen";

/** A position on every axis, in the order of `Atlas.axes`; -1 on derived axes, which nobody navigates. */
export type Point = readonly number[];

/** What stands at a point: a row of the result (row + 1), an unmeasured cell (-(row) - 1), or 0: no such cell in the sweep. */
export type Slot = number;

export type Mark =
  | "steady"
  | "predicted"
  | "imported"
  | "wide"
  | "minimum"
  | "unstable"
  | "disagree"
  | "undecided"
  | "alike"
  | "suspect"
  | "inadmissible"
  | "unmeasured"
  | "absent";

export interface Texts {
  texts: string[];
  codes: Codes;
}

export interface Atlas {
  data: ReportData;
  axes: readonly Axis[];
  /** Level positions of each row, by axis. */
  levels: Codes[];
  nRows: number;
  values: Values;
  kind: Texts;
  verdict: Texts;
  method: Texts;
  latKind: Texts;
  loop: Texts;
  seeds: Texts;
  note: Texts;
  limit: Texts;
  limitWhy: Texts;
  ceiling: Texts;
  grade: Texts;
  nVisits: Codes;
  nDiscarded: Codes;
  /** Empty until the first picture stands. */
  latencies: Signal<Latencies>;
  unmeasuredLevels: Codes[];
  reason: Texts;
  /** Why, as a code: `UnmeasuredCode`. */
  unmeasuredCode: Texts;
  /** How each row is marked, by kind and verdict. */
  marks: Mark[];
  strides: number[];
  slots: Slots;
  /** Points of the crossed axes that are no cell of the sweep. */
  nAbsent: number;
  /** Rows at a point besides the one the map shows (a prediction beside its measurement). */
  others: Map<number, number[]>;
}

/** Slot by cell number; a full array where that is small enough, else sparse. */
interface Slots {
  get(cell: number): Slot;
  set(cell: number, slot: Slot): void;
}

const FULL_ARRAY_LIMIT = 8_000_000;
const RANK: Record<string, number> = { measured: 0, imported: 1, predicted: 2 };

function makeSlots(size: number): Slots {
  if (size <= FULL_ARRAY_LIMIT) {
    const array = new Int32Array(size);
    return {
      get: (cell) => array[cell] ?? 0,
      set: (cell, slot) => {
        array[cell] = slot;
      },
    };
  }
  const map = new Map<number, Slot>();
  return {
    get: (cell) => map.get(cell) ?? 0,
    set: (cell, slot) => {
      map.set(cell, slot);
    },
  };
}

async function texts(dictionary: Dictionary): Promise<Texts> {
  const many = dictionary.packed_texts ? await packedTexts(dictionary.packed_texts) : dictionary.texts;
  return { texts: many, codes: await integers(dictionary.codes) };
}

export function textAt(column: Texts, row: number): string {
  return column.texts[column.codes[row] ?? -1] ?? "";
}

/** What was measured again is as steady as the rest; the cell tells both values. */
function rowMarks(mark: Texts, nRows: number): Mark[] {
  return Array.from({ length: nRows }, (_, row) => {
    const text = textAt(mark, row);
    return text === "re-measured" ? "steady" : (text as Mark);
  });
}

/** Unpacks the page's data. Fails on a format or version this page does not know. */
export async function openAtlas(data: ReportData): Promise<Atlas> {
  if (data.format !== "ioatlas-report" || data.version !== 1) {
    throw new Error(`the page's data has the format ${data.format} ${data.version}, which this explorer does not know`);
  }
  const { cells, unmeasured, axes } = data;
  const levels = await Promise.all(cells.axes.map(integers));
  const unmeasuredLevels = await Promise.all(unmeasured.axes.map(integers));
  const [kind, verdict, method, latKind, loop, seeds, note, limit, limitWhy, ceiling, grade, reason, unmeasuredCode] =
    await Promise.all([
      texts(cells.kind),
      texts(cells.verdict),
      texts(cells.method),
      texts(cells.lat_kind),
      texts(cells.loop),
      texts(cells.seeds),
      texts(cells.note),
      texts(cells.limit),
      texts(cells.limit_why),
      texts(cells.ceiling),
      texts(cells.grade),
      texts(unmeasured.reason),
      texts(unmeasured.code),
    ]);
  const [nVisits, nDiscarded] = await Promise.all([integers(cells.n_visits), integers(cells.n_discarded)]);
  const strides = new Array<number>(axes.length).fill(0);
  let size = 1;
  for (let a = axes.length - 1; a >= 0; a--) {
    const axis = axes[a];
    if (!axis || axis.derived) continue;
    strides[a] = size;
    size *= Math.max(1, axis.levels.length);
  }
  const slots = makeSlots(size);
  const others = new Map<number, number[]>();
  let filled = 0;
  const cellOf = (columns: Codes[], row: number) => {
    let cell = 0;
    for (let a = 0; a < axes.length; a++) cell += (strides[a] ?? 0) * (columns[a]?.[row] ?? 0);
    return cell;
  };
  for (let row = 0; row < unmeasured.n_rows; row++) {
    const cell = cellOf(unmeasuredLevels, row);
    if (slots.get(cell) === 0) filled++;
    slots.set(cell, -row - 1);
  }
  for (let row = 0; row < cells.n_rows; row++) {
    const cell = cellOf(levels, row);
    const there = slots.get(cell);
    if (there > 0) {
      const better = (RANK[textAt(kind, row)] ?? 9) < (RANK[textAt(kind, there - 1)] ?? 9);
      others.set(cell, [...(others.get(cell) ?? []), better ? there - 1 : row]);
      if (!better) continue;
    }
    if (there === 0) filled++;
    slots.set(cell, row + 1);
  }
  return {
    data,
    axes,
    levels,
    nRows: cells.n_rows,
    values: await Values.open(cells, axes, levels),
    kind,
    verdict,
    method,
    latKind,
    loop,
    seeds,
    note,
    limit,
    limitWhy,
    ceiling,
    grade,
    nVisits,
    nDiscarded,
    latencies: signal(NO_LATENCIES),
    unmeasuredLevels,
    reason,
    unmeasuredCode,
    marks: rowMarks(await texts(cells.mark), cells.n_rows),
    strides,
    slots,
    nAbsent: size - filled,
    others,
  };
}

export function cellNumber(atlas: Atlas, point: Point): number {
  let cell = 0;
  for (let a = 0; a < point.length; a++) cell += (atlas.strides[a] ?? 0) * Math.max(0, point[a] ?? 0);
  return cell;
}

export function slotAt(atlas: Atlas, point: Point): Slot {
  return atlas.slots.get(cellNumber(atlas, point));
}

/** Marks of values that rank nowhere: they have no colour, and no scale reaches to them. */
export const DOUBTED: ReadonlySet<Mark> = new Set(["unstable", "disagree", "suspect"]);

export function markOf(atlas: Atlas, slot: Slot): Mark {
  if (slot > 0) return atlas.marks[slot - 1] ?? "suspect";
  if (slot === 0) return "absent";
  return unmeasuredMark(atlas, -slot - 1);
}

/** How a row of the cells without an estimate is marked. */
export function unmeasuredMark(atlas: Atlas, row: number): Mark {
  return textAt(atlas.unmeasuredCode, row) === UnmeasuredCode.NOT_ADMISSIBLE ? "inadmissible" : "unmeasured";
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
