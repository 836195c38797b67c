// SPDX-License-Identifier: Apache-2.0
// Response time against load as a uPlot chart: mean, p95 and p99 with error bars, and the limit as a line.
import uPlot from "uplot";
import type { LoadPointData, Spread } from "../lib/report-data.gen";
import { bottomAxis, FONT, inks, valueAxis } from "./plot-base";

export interface LoadLook {
  width: number;
  height: number;
  dark: boolean;
  limit: number | null;
  quantity: string;
  latency: (ns: number) => string;
  count: (iops: number) => string;
}

interface Line {
  key: "lat_mean_ns" | "lat_p95_ns" | "lat_p99_ns";
  label: string;
  dash: number[];
}

export const LINES: readonly Line[] = [
  { key: "lat_mean_ns", label: "mean", dash: [] },
  { key: "lat_p95_ns", label: "p95", dash: [6, 3] },
  { key: "lat_p99_ns", label: "p99", dash: [2, 3] },
];

/** Points in the order of what was achieved; those of one phase. */
export function byRate(points: readonly LoadPointData[]): LoadPointData[] {
  return points.filter((p) => p.iops !== null).sort((a, b) => (a.iops?.value ?? 0) - (b.iops?.value ?? 0));
}

export function plotLoad(into: HTMLElement, points: readonly LoadPointData[], look: LoadLook): uPlot {
  const colours = inks(look.dark);
  const { ink, accent, paper } = colours;
  const spreads = points.flatMap((p) => LINES.map((line) => p[line.key])).filter((s): s is Spread => s !== null);
  const values = [
    ...spreads.flatMap((s) => [s.value, s.low ?? s.value, s.high ?? s.value]),
    ...(look.limit === null ? [] : [look.limit]),
  ].filter((v) => v > 0);
  const lines = LINES.filter((line) => points.some((p) => p[line.key] !== null));
  const range: [number, number] = values.length ? [Math.min(...values) / 1.3, Math.max(...values) * 1.4] : [1, 10];
  const rates = points.map((p) => p.iops?.value ?? 0);
  const bar = (c: CanvasRenderingContext2D, x: number, top: number, bottom: number, across: boolean) => {
    c.beginPath();
    if (across) {
      c.moveTo(top, x);
      c.lineTo(bottom, x);
    } else {
      c.moveTo(x, top);
      c.lineTo(x, bottom);
    }
    c.stroke();
  };
  const marks = (u: uPlot) => {
    const c = u.ctx;
    const ratio = uPlot.pxRatio;
    c.save();
    c.font = `${11 * ratio}px system-ui, sans-serif`;
    if (look.limit !== null && look.limit <= range[1]) {
      const y = u.valToPos(look.limit, "y", true);
      c.strokeStyle = ink;
      c.lineWidth = ratio;
      c.setLineDash([8 * ratio, 4 * ratio]);
      bar(c, y, u.bbox.left, u.bbox.left + u.bbox.width, true);
      c.setLineDash([]);
      c.fillStyle = ink;
      c.textAlign = "left";
      c.textBaseline = "bottom";
      c.fillText(`limit of the ${look.quantity}: ${look.latency(look.limit)}`, u.bbox.left + 6 * ratio, y - 3 * ratio);
    }
    for (const line of lines) {
      const shown = points.filter((p) => p[line.key] !== null);
      c.strokeStyle = accent;
      c.lineWidth = 1.2 * ratio;
      for (const p of shown) {
        const spread = p[line.key];
        if (spread === null || p.iops === null) continue;
        const x = u.valToPos(p.iops.value, "x", true);
        const y = u.valToPos(spread.value, "y", true);
        if (spread.low !== null && spread.high !== null) {
          bar(c, x, u.valToPos(spread.high, "y", true), u.valToPos(Math.max(spread.low, range[0]), "y", true), false);
        }
        if (p.iops.low !== null && p.iops.high !== null) {
          bar(c, y, u.valToPos(p.iops.low, "x", true), u.valToPos(p.iops.high, "x", true), true);
        }
        c.beginPath();
        c.arc(x, y, 3.4 * ratio, 0, 7);
        // An open circle: the generator fell behind, so the value is a lower bound that grows with time.
        c.fillStyle = p.overloaded ? paper : accent;
        c.fill();
        c.stroke();
      }
      const end = shown.at(-1);
      const last = end?.[line.key];
      if (end?.iops && last) {
        c.fillStyle = ink;
        c.textAlign = "left";
        c.textBaseline = "middle";
        c.fillText(line.label, u.valToPos(end.iops.value, "x", true) + 9 * ratio, u.valToPos(last.value, "y", true));
      }
    }
    c.restore();
  };
  const most = Math.max(...points.map((p) => p.iops?.high ?? p.iops?.value ?? 0), 1);
  return new uPlot(
    {
      width: look.width,
      height: look.height,
      padding: [10, 46, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: [0, most * 1.04] }, y: { distr: 3, log: 10, range } },
      axes: [
        bottomAxis(colours, {
          size: 44,
          label: "I/Os per second, achieved",
          labelFont: FONT,
          labelSize: 18,
          values: (_u, splits) => splits.map((v) => look.count(v)),
        }),
        valueAxis(colours, range, "log", 10, look.latency),
      ],
      series: [{}, ...lines.map((line) => ({ stroke: accent, width: 1.4, dash: line.dash, points: { show: false } }))],
      hooks: { draw: [marks] },
    },
    [rates, ...lines.map((line) => points.map((p) => p[line.key]?.value ?? null))] as uPlot.AlignedData,
    into,
  );
}
