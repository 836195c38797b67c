// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { BOX, drawChart } from "./chart";
import type { Dot, Panel } from "./report-data.gen";

function dot(x: number, value: number, more: Partial<Dot> = {}): Dot {
  const bar = { low: value * 0.9, high: value * 1.1, x_low: null, x_high: null };
  return { x, value, n: 3, parts: [], unsure: false, ...bar, ...more };
}

function panel(more: Partial<Panel> = {}): Panel {
  return {
    title: "Read",
    series: [{ name: "fio", look: "", dots: [dot(1, 100e6), dot(2, 50e6), dot(4, 100e6)] }],
    ticks: [1, 2, 4].map((x) => [x, `${x} B`]),
    limits: [
      { name: "link", value: 117e6, drawn: true },
      { name: "bus", value: 5e9, drawn: true },
    ],
    marks: [{ name: "memory", value: 2, drawn: true }],
    path: [],
    band: null,
    x_name: "Record size",
    y_name: "Throughput",
    y_unit: "B/s",
    x_scale: "log",
    y_scale: "linear",
    note: "",
    ...more,
  };
}

const BOTTOM = BOX.height - BOX.bottom;

describe("a chart", () => {
  test("points stand at equal ratios of x and in proportion of y, error bars around them", () => {
    const drawn = drawChart(panel(), "si");
    const [a, b, c] = drawn.series[0]?.points ?? [];
    if (!a || !b || !c) throw new Error("three points");
    expect(b.x - a.x).toBeCloseTo(c.x - b.x);
    expect((BOTTOM - b.y) / (BOTTOM - a.y)).toBeCloseTo(0.5);
    expect(a.top).toBeLessThan(a.y);
    expect(a.bottom).toBeGreaterThan(a.y);
    expect(a.text).toContain("1 B: 100 MB/s ± 10 MB/s, n 3");
    expect(drawn.limits.map((limit) => limit.text)).toEqual(["117 MB/s"]);
    expect(drawn.marks[0]?.x).toBeCloseTo(b.x);
  });

  test("ends that are not as far from the value are told both", () => {
    const drawn = drawChart(panel({ series: [{ name: "fio", look: "", dots: [dot(1, 1e8, { high: 2e8 })] }] }), "si");
    expect(drawn.series[0]?.points[0]?.text).toContain("100 MB/s (90 to 200 MB/s), n 3");
  });

  test("values far apart keep apart on a logarithmic scale", () => {
    const dots = [dot(1, 20e9), dot(2, 100e6)];
    const drawn = drawChart(panel({ y_scale: "log", series: [{ name: "fio", look: "", dots }] }), "si");
    const [memory, link] = drawn.series[0]?.points ?? [];
    if (!memory || !link) throw new Error("two points");
    expect(BOTTOM - link.y).toBeGreaterThan(10);
    expect(drawn.yTicks.length).toBeGreaterThan(1);
    expect(link.bottom).toBeLessThanOrEqual(BOTTOM);
  });

  test("without ticks x begins at zero and its bars have room", () => {
    const dots = [dot(500, 1e6, { x_low: 400, x_high: 800 })];
    const drawn = drawChart(panel({ ticks: [], x_scale: "linear", series: [{ name: "mean", look: "", dots }] }), "si");
    const [point] = drawn.series[0]?.points ?? [];
    if (!point) throw new Error("a point");
    expect(point.left).toBeLessThan(point.x);
    expect(point.right).toBeLessThan(BOX.width - BOX.right);
    expect(drawn.xTicks[0]).toEqual({ at: BOX.left, text: "0" });
  });
});
