// SPDX-License-Identifier: Apache-2.0
// A slice as a uPlot chart: a line through measured cells, error bars, and a shape for each kind of point.
import uPlot from "uplot";
import type { Mark } from "../lib/atlas";
import type { ScaleKind } from "../lib/scale";
import type { SlicePoint } from "../lib/slice";
import { bottomAxis, inks, valueAxis } from "./plot-base";

/** A thin line beside the slice: the same cells at another level of some axis. */
export interface Neighbour {
  label: string;
  points: readonly SlicePoint[];
}

export interface SliceLook {
  neighbours: readonly Neighbour[];
  /** The bound of the path at each level, drawn as a dashed line where it lies near enough to be seen. */
  ceiling: { names: readonly string[]; values: readonly number[] };
  width: number;
  height: number;
  dark: boolean;
  kind: ScaleKind;
  /** The levels are numbers, so there is something between them. */
  numeric: boolean;
  /** The level at which the option is not set, -1 when there is none: no line leads there. */
  unset: number;
  /** Text of a level under the chart, and of a value beside it. */
  level: (index: number) => string;
  value: (v: number) => string;
  /** 1024 where round values are powers of it, else 10. */
  base: number;
  /** The level of the pinned cell. */
  at: number;
  onPick: (level: number) => void;
  onHover: (level: number | null) => void;
}

/** How far above the largest value a bound may lie and still be drawn: beyond it would press the values flat. */
const REACH: Record<ScaleKind, number> = { linear: 4, log: 100 };

const JOINED: readonly Mark[] = ["steady", "wide", "unstable", "disagree", "minimum", "suspect", "imported"];

/** Lines join measured neighbours only, here or elsewhere: where a cell is predicted or missing the line has a gap, and between words there is none. */
export function joined(points: readonly SlicePoint[], numeric: boolean, unset = -1): (number | null)[] {
  return points.map((p) =>
    numeric && p.level !== unset && JOINED.includes(p.mark) && Number.isFinite(p.value) ? p.value : null,
  );
}

/** Another tool's set has its own levels: its line goes on over those that only others have. */
function ownLevels(points: readonly SlicePoint[]): boolean {
  return points.every((p) => p.mark === "imported" || p.mark === "absent");
}

export function plotSlice(into: HTMLElement, points: readonly SlicePoint[], look: SliceLook): uPlot {
  const colours = inks(look.dark);
  const { ink, soft, accent, paper } = colours;
  const measured = Math.max(...points.map((p) => (Number.isFinite(p.value) ? p.value : 0)));
  const bounds = look.ceiling.values.map((v) => (v <= measured * REACH[look.kind] ? v : Number.NaN));
  const finite = [
    ...points,
    ...look.neighbours.flatMap((n) => n.points.map((p) => ({ ...p, low: p.value, high: p.value }))),
  ]
    .flatMap((p) => [p.value, p.low, p.high])
    .concat(bounds)
    .filter((v) => Number.isFinite(v) && (look.kind === "linear" || v > 0));
  const [least, most] = [Math.min(...finite), Math.max(...finite)];
  const log = look.kind === "log" && finite.length > 0;
  const range: [number, number] =
    finite.length === 0 ? [0, 1] : log ? [least / 1.3, most * 1.3] : [Math.min(0, least), most * 1.06 || 1];
  /** The level of each thin line at its right end, where there is room for it. */
  const labelEnds = (u: uPlot) => {
    const c = u.ctx;
    c.font = `${10 * uPlot.pxRatio}px system-ui, sans-serif`;
    c.fillStyle = soft;
    c.textAlign = "left";
    c.textBaseline = "middle";
    let last = Number.POSITIVE_INFINITY;
    const ends = look.neighbours
      .flatMap(({ label, points: line }) => {
        const end = line.findLast((p) => Number.isFinite(p.value) && (!log || p.value > 0));
        return end ? [{ label, x: u.valToPos(end.level, "x", true), y: u.valToPos(end.value, "y", true) }] : [];
      })
      .sort((a, b) => b.y - a.y);
    for (const end of ends) {
      if (last - end.y < 10 * uPlot.pxRatio) continue;
      c.fillText(end.label, end.x + 7 * uPlot.pxRatio, end.y);
      last = end.y;
    }
  };
  const labelBound = (u: uPlot) => {
    const last = bounds.findLastIndex((v) => Number.isFinite(v));
    const value = bounds[last];
    // One bound within the plot is no line, and a name without a line says nothing.
    if (value === undefined || bounds.findIndex((v) => Number.isFinite(v)) === last) return;
    const c = u.ctx;
    c.font = `${10 * uPlot.pxRatio}px system-ui, sans-serif`;
    c.fillStyle = soft;
    c.textAlign = "right";
    c.textBaseline = "top";
    // Below the line, clear of points that lie on it, and at the level it is of: a bound of one job says nothing of 16.
    const name = look.ceiling.names[last] ?? "";
    const end = Math.max(u.valToPos(last, "x", true), u.bbox.left + c.measureText(name).width + 4);
    c.fillText(name, Math.min(end, u.bbox.left + u.bbox.width - 2), u.valToPos(value, "y", true) + 9 * uPlot.pxRatio);
  };
  const marks = (u: uPlot) => {
    const c = u.ctx;
    const ratio = uPlot.pxRatio;
    const px = (level: number) => u.valToPos(level, "x", true);
    const py = (v: number) => u.valToPos(v, "y", true);
    c.save();
    labelEnds(u);
    labelBound(u);
    c.lineWidth = 1.5 * ratio;
    for (const p of points) {
      if (!Number.isFinite(p.value) || (log && p.value <= 0)) continue;
      const [x, y] = [px(p.level), py(p.value)];
      c.strokeStyle = accent;
      if (Number.isFinite(p.low) && Number.isFinite(p.high)) {
        const [top, bottom] = [py(p.high), py(log ? Math.max(p.low, range[0]) : p.low)];
        c.beginPath();
        c.moveTo(x, top);
        c.lineTo(x, bottom);
        for (const end of [top, bottom]) {
          c.moveTo(x - 3 * ratio, end);
          c.lineTo(x + 3 * ratio, end);
        }
        c.stroke();
      }
      point(c, p.mark, x, y, 3.6 * ratio, accent, paper);
      if (p.level === look.at) {
        c.strokeStyle = ink;
        c.beginPath();
        c.arc(x, y, 7 * ratio, 0, 7);
        c.stroke();
      }
    }
    c.restore();
  };
  const every = Math.max(1, Math.ceil(points.length / Math.max(2, Math.floor((look.width - 60) / 54))));
  return new uPlot(
    {
      width: look.width,
      height: look.height,
      padding: [10, look.neighbours.length ? 46 : 14, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: false, y: false },
        points: { show: false },
      },
      scales: {
        x: { time: false, range: [-0.4, points.length - 0.6] },
        y: { distr: log ? 3 : 1, log: 10, range },
      },
      axes: [
        bottomAxis(colours, {
          size: 26,
          splits: () => points.map((p) => p.level).filter((level) => level % every === 0),
          values: (_u, splits) => splits.map((s) => look.level(s)),
        }),
        valueAxis(colours, range, log ? "log" : "linear", look.base, look.value),
      ],
      series: [
        {},
        ...look.neighbours.map(({ points: line }) => ({
          stroke: soft,
          width: 1,
          spanGaps: ownLevels(line),
          points: { show: !look.numeric || ownLevels(line) },
        })),
        { stroke: soft, width: 1.5, dash: [6, 4], spanGaps: true, points: { show: false } },
        { stroke: accent, width: 1.5, spanGaps: ownLevels(points), points: { show: false } },
      ],
      hooks: {
        draw: [marks],
        setCursor: [(u) => look.onHover(u.cursor.idx ?? null)],
        ready: [
          (u) => {
            u.over.addEventListener("click", () => {
              if (u.cursor.idx !== null && u.cursor.idx !== undefined) look.onPick(u.cursor.idx);
            });
          },
        ],
      },
    },
    [
      points.map((p) => p.level),
      ...look.neighbours.map((n) => joined(n.points, look.numeric, look.unset)),
      bounds.map((v) => (Number.isFinite(v) ? v : null)),
      joined(points, look.numeric, look.unset),
    ] as uPlot.AlignedData,
    into,
  );
}

/** Filled dot: steady. With an arrow up: a minimum. Open dot: predicted. Open square: imported. Triangle: not steady. Diamond: suspect. */
function point(
  c: CanvasRenderingContext2D,
  mark: Mark,
  x: number,
  y: number,
  r: number,
  ink: string,
  paper: string,
): void {
  c.beginPath();
  if (mark === "imported") c.rect(x - r, y - r, 2 * r, 2 * r);
  else if (mark === "unstable" || mark === "disagree") {
    c.moveTo(x, y - r * 1.3);
    c.lineTo(x + r * 1.25, y + r);
    c.lineTo(x - r * 1.25, y + r);
    c.closePath();
  } else if (mark === "suspect") {
    c.moveTo(x, y - r * 1.35);
    c.lineTo(x + r * 1.35, y);
    c.lineTo(x, y + r * 1.35);
    c.lineTo(x - r * 1.35, y);
    c.closePath();
  } else if (mark === "minimum") {
    c.arc(x, y, r, 0, 7);
    c.moveTo(x - r, y - r * 2);
    c.lineTo(x, y - r * 3);
    c.lineTo(x + r, y - r * 2);
  } else c.arc(x, y, r, 0, 7);
  c.fillStyle = mark === "predicted" || mark === "imported" ? paper : ink;
  c.strokeStyle = ink;
  c.fill();
  c.stroke();
}
