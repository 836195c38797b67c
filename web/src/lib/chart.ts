// SPDX-License-Identifier: Apache-2.0
// Geometry of a chart: where its points, error bars, limits and ticks lie. Nothing here touches the page.
import { intervalText } from "./facts";
import type { Dot, Panel } from "./report-data.gen";
import { makeScale, placedTicks } from "./scale";
import { count, latency, rate, type UnitSystem } from "./units";

export const BOX = { width: 440, height: 270, left: 76, right: 14, top: 12, bottom: 40 };

/** A limit this much above the values would press them flat against the axis below: its panel's note tells it. */
const FAR = 1.6;

export function valueText(value: number, unit: string, system: UnitSystem): string {
  if (unit === "B/s") return rate(value, system);
  if (unit === "ns") return latency(value);
  return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : count(value);
}

/** What stands at an x: its tick's label, or the number. */
export function xText(panel: Panel, x: number): string {
  return panel.ticks.find(([at]) => at === x)?.[1] ?? valueText(x, "", "si");
}

/** Latencies on a logarithmic scale over something. */
export function panel(told: Pick<Panel, "title" | "series" | "ticks" | "x_name"> & Partial<Panel>): Panel {
  const rest = { limits: [], path: [], marks: [], band: null, note: "" };
  return { ...rest, x_scale: "linear", y_name: "Latency", y_unit: "ns", y_scale: "log", ...told };
}

/** A value without a bar. */
export function dot(x: number, value: number): Dot {
  return { x, value, low: null, high: null, n: 0, parts: [], unsure: false, x_low: null, x_high: null };
}

/** right: room beside the plot. */
export function drawChart(panel: Panel, system: UnitSystem, right = BOX.right) {
  const box = { ...BOX, right };
  const dots = panel.series.flatMap((one) => one.dots);
  const [from, to] = [
    panel.ticks[0]?.[0] ?? 0,
    panel.ticks.at(-1)?.[0] ?? 1.04 * Math.max(1, ...dots.map((d) => d.x_high ?? d.x)),
  ];
  const inner = { width: box.width - box.left - box.right, height: box.height - box.top - box.bottom };
  const inset = panel.ticks.length > 0 ? 8 : 0;
  const place = panel.x_scale === "log" ? Math.log : (x: number) => x;
  const span = place(to) - place(from);
  const px = (x: number) =>
    box.left + inset + (inner.width - 2 * inset) * (span > 0 ? (place(x) - place(from)) / span : 0.5);
  const within = (x: number) => Math.min(box.width - box.right, Math.max(box.left, px(x)));
  const most = Math.max(...dots.map((d) => d.high ?? d.value), Number.MIN_VALUE);
  const limits = panel.limits.filter((limit) => panel.y_scale === "log" || limit.value <= FAR * most);
  const seen = [...dots, ...limits].map((one) => one.value);
  const high = Math.max(most, ...seen) * 1.06;
  const least = Math.min(...seen.filter((value) => value > 0));
  const log = panel.y_scale === "log" && least < high;
  const scale = makeScale(log ? "log" : "linear", log ? least / 1.5 : 0, high);
  const py = (y: number) => box.top + inner.height * (1 - (y > scale.from ? scale.place(y) : 0));
  const format = (y: number) => valueText(y, panel.y_unit, system);
  const base = panel.y_unit === "B/s" && system === "iec" ? 1024 : 10;
  const ticks = panel.ticks.map(([x, text]) => ({ at: px(x), text: text.replace(/(\d) /, "$1\u2009") }));
  return {
    box,
    series: panel.series.map((one) => ({
      name: one.name,
      look: one.look,
      points: one.dots.map((d) => ({
        x: px(d.x),
        y: py(d.value),
        top: py(d.high ?? d.value),
        bottom: py(d.low ?? d.value),
        left: px(d.x_low ?? d.x),
        right: px(d.x_high ?? d.x),
        unsure: d.unsure,
        text: `${one.name}, ${xText(panel, d.x)}: ${dotText(d, panel.y_unit, system)}`,
      })),
    })),
    limits: limits.map(({ name, value }) => ({ name, y: py(value), text: format(value) })),
    marks: panel.marks.map(({ name, value, drawn }) => ({ name, drawn, x: px(value) })),
    band: panel.band && { x: within(panel.band[0]), width: within(panel.band[1]) - within(panel.band[0]) },
    xTicks: ticks.length > 0 ? ticks : placedTicks(makeScale("linear", from, to), 10, 6, px, count),
    yTicks: placedTicks({ ...scale, to: high }, base, 5, py, format),
  };
}

/** "70.1 MB/s ± 3.2 MB/s, n 10"; where the ends are not as far from the value, these. */
export function dotText({ value, low, high, n }: Dot, unit: string, system: UnitSystem): string {
  const text = (v: number) => valueText(v, unit, system);
  let bar = "";
  if (low !== null && high !== null) {
    const even = Math.abs(high - value - (value - low)) <= 1e-6 * Math.abs(value);
    bar = even ? ` ± ${text(high - value)}` : ` (${intervalText(low, high, text)})`;
  }
  return `${text(value)}${bar}${n > 0 ? `, n ${n}` : ""}`;
}
