// SPDX-License-Identifier: Apache-2.0
// Geometry of a line chart: where its points, error bars, limits and ticks lie. Nothing here touches the page.
import type { Chart } from "./report-data.gen";
import { makeScale, placedTicks } from "./scale";
import { count, latency, rate, size, type UnitSystem } from "./units";

export const BOX = { width: 440, height: 270, left: 76, right: 14, top: 12, bottom: 40 };
/** A limit this much above the data is told in words instead of drawn: the lines would lie flat at the bottom. */
const FAR = 1.6;
/** Values further apart than this stand on a logarithmic scale. */
const WIDE = 40;

export interface Placed {
  x: number;
  y: number;
  /** Ends of the error bar; equal to y where there is none. */
  top: number;
  bottom: number;
  text: string;
}

export interface DrawnLine {
  name: string;
  points: Placed[];
}

export interface Drawn {
  lines: DrawnLine[];
  levels: { name: string; y: number; text: string }[];
  /** Limits that lie too far above to be drawn. */
  beyond: { name: string; text: string }[];
  marks: { name: string; x: number; text: string }[];
  xTicks: { at: number; text: string }[];
  yTicks: { at: number; text: string }[];
}

export function valueText(value: number, unit: string, system: UnitSystem): string {
  if (unit === "bytes/s") return rate(value, system);
  if (unit === "bytes") return size(value, system);
  if (unit === "ns") return latency(value);
  return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : count(value);
}

export function drawChart(chart: Chart, system: UnitSystem): Drawn {
  const points = chart.lines.flatMap((line) => line.points);
  const xs = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const tops = points.map((p) => p.mean + (p.sd ?? 0));
  const most = Math.max(...tops, Number.MIN_VALUE);
  const near = chart.levels.filter((level) => level.value <= FAR * most);
  const high = Math.max(most, ...near.map((level) => level.value)) * 1.06;
  const marks = chart.marks.filter((m) => m.value >= (xs[0] ?? 0) && m.value <= (xs.at(-1) ?? 0));
  const [from, to] = [xs[0] ?? 1, xs.at(-1) ?? 1];
  const log = from > 0 && to > from && chart.x_unit !== "count";
  const inner = { width: BOX.width - BOX.left - BOX.right, height: BOX.height - BOX.top - BOX.bottom };
  // Sizes and loads stand at equal ratios; time, which begins at zero, and numbers that follow one another at equal steps.
  const share = (x: number) =>
    log ? Math.log(x / from) / Math.log(to / from) : to > from ? (x - from) / (to - from) : 0.5;
  const px = (x: number) => BOX.left + 8 + (inner.width - 16) * share(x);
  // Memory and a link can lie a hundred times apart: then the smaller would be a flat line at the bottom.
  const seen = [...points.map((p) => p.mean), ...near.map((level) => level.value)];
  const least = Math.min(...seen, most);
  const kind = chart.y_unit === "bytes/s" && least > 0 && WIDE * least < most ? "log" : "linear";
  const scale = makeScale(kind, kind === "log" ? least / 1.5 : 0, high);
  const py = (y: number) => BOX.top + inner.height * (1 - (y > scale.from ? scale.place(y) : 0));
  const format = (y: number) => valueText(y, chart.y_unit, system);
  const base = chart.y_unit.startsWith("bytes") && system === "iec" ? 1024 : 10;
  const every = Math.max(1, Math.ceil(xs.length / 7));
  return {
    lines: chart.lines.map((line) => ({
      name: line.name,
      points: line.points.map((p) => ({
        x: px(p.x),
        y: py(p.mean),
        top: py(p.mean + (p.sd ?? 0)),
        bottom: py(p.mean - (p.sd ?? 0)),
        text: `${line.name}, ${valueText(p.x, chart.x_unit, system)}: ${pointText(p, chart.y_unit, system)}`,
      })),
    })),
    levels: near.map((level) => ({ name: level.name, y: py(level.value), text: format(level.value) })),
    beyond: chart.levels
      .filter((level) => level.value > FAR * most)
      .map((level) => ({ name: level.name, text: format(level.value) })),
    marks: marks.map((m) => ({ name: m.name, x: px(m.value), text: valueText(m.value, chart.x_unit, system) })),
    xTicks: xs
      .filter((_, i) => i % every === 0)
      .map((x) => ({ at: px(x), text: valueText(x, chart.x_unit, system).replace(/(\d) /, "$1\u2009") })),
    yTicks: placedTicks({ ...scale, to: high }, base, 5, py, format),
  };
}

/** "70.1 MB/s ± 3.2 MB/s, n 10". */
export function pointText(p: { mean: number; sd: number | null; n: number }, unit: string, system: UnitSystem): string {
  const mean = valueText(p.mean, unit, system);
  return `${mean}${p.sd === null ? "" : ` ± ${valueText(p.sd, unit, system)}`}, n ${p.n}`;
}
