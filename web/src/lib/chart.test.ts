// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { BOX, drawChart } from "./chart";
import type { Chart } from "./report-data.gen";

const MIB = 1 << 20;

function chart(means: number[], levels: number[] = []): Chart {
  return {
    title: "Read",
    x_name: "Record size",
    x_unit: "bytes",
    y_name: "Throughput",
    y_unit: "bytes/s",
    lines: [{ name: "fio", points: means.map((mean, i) => ({ x: MIB << i, mean, sd: mean / 10, n: 3 })) }],
    levels: levels.map((value) => ({ name: "link", value })),
    marks: [{ name: "memory", value: 2 * MIB }],
    note: "",
  };
}

describe("a line chart", () => {
  test("points stand at equal ratios of x and in proportion of y, error bars around them", () => {
    const [a, b, c] = drawChart(chart([100e6, 50e6, 100e6]), "si").lines[0]?.points ?? [];
    if (!a || !b || !c) throw new Error("three points");
    expect(b.x - a.x).toBeCloseTo(c.x - b.x);
    const bottom = BOX.height - BOX.bottom;
    expect((bottom - b.y) / (bottom - a.y)).toBeCloseTo(0.5);
    expect(a.top).toBeLessThan(a.y);
    expect(a.bottom).toBeGreaterThan(a.y);
    expect(a.text).toContain("100 MB/s ± 10 MB/s, n 3");
  });

  test("a limit near the data is drawn, one far above is told", () => {
    const drawn = drawChart(chart([100e6, 110e6], [117e6, 5e9]), "si");
    expect(drawn.levels.map((level) => level.text)).toEqual(["117 MB/s"]);
    expect(drawn.beyond.map((level) => level.text)).toEqual(["5 GB/s"]);
  });

  test("memory and a link far apart stand on a logarithmic scale", () => {
    const drawn = drawChart(chart([20e9, 100e6], [117e6]), "si");
    const [memory, link] = drawn.lines[0]?.points ?? [];
    const bottom = BOX.height - BOX.bottom;
    if (!memory || !link) throw new Error("two points");
    expect(bottom - link.y).toBeGreaterThan(10);
    expect(drawn.levels[0]?.y ?? bottom).toBeLessThan(link.y);
    expect(drawn.yTicks.length).toBeGreaterThan(1);
    expect(link.bottom).toBeLessThanOrEqual(bottom);
  });

  test("a mark outside the sizes is left out", () => {
    expect(drawChart(chart([1e8, 1e8, 1e8]), "iec").marks).toHaveLength(1);
    const small = chart([1e8]);
    expect(drawChart(small, "iec").marks).toHaveLength(0);
  });
});
