// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { fittingKind, makeScale, ticks, tickText } from "./scale";

describe("scale", () => {
  test("linear starts at zero and clamps", () => {
    const scale = makeScale("linear", 50, 200);
    expect([0, 100, 200, 300, -5].map(scale.place)).toEqual([0, 0.5, 1, 1, 0]);
    expect(scale.at(0.25)).toBe(50);
  });

  test("log has no place for zero, and place and value are inverse", () => {
    const scale = makeScale("log", 1, 10_000);
    expect(scale.place(0)).toBeNaN();
    expect(scale.place(100)).toBeCloseTo(0.5, 12);
    for (const p of [0, 0.3, 1]) expect(scale.place(scale.at(p))).toBeCloseTo(p, 12);
  });

  test("one value, or none, still gives a usable scale", () => {
    for (const kind of ["linear", "log"] as const) {
      const scale = makeScale(kind, 5, 5);
      expect(scale.place(5)).toBeGreaterThanOrEqual(0);
      expect(ticks(scale, 10, 5).length).toBeGreaterThan(0);
      expect(ticks(makeScale(kind, 0, 0), 10, 5).length).toBeGreaterThan(0);
    }
  });

  test("log is proposed only when many values would drown in the dark end", () => {
    const fitting = (...values: number[]) =>
      fittingKind(Float64Array.from(values), [Math.min(...values), Math.max(...values)]);
    expect(fitting(1, 50, 80, 100, 100)).toBe("linear");
    expect(fitting(1, 1, 2, 80, 100)).toBe("log");
    expect(fitting(0, 0, 0, 100)).toBe("linear");
    expect(fitting()).toBe("linear");
  });

  test("ticks are round in their base, inside the scale, and not too many", () => {
    const mib = 1 << 20;
    expect(ticks(makeScale("linear", 0, 1000 * mib), 1024, 7)).toEqual([0, 256, 512, 768].map((v) => v * mib));
    expect(ticks(makeScale("linear", 0, 95), 10, 5)).toEqual([0, 20, 40, 60, 80]);
    expect(ticks(makeScale("log", 62e3, 442e6), 10, 7)).toEqual([1e5, 1e6, 1e7, 1e8]);
    expect(ticks(makeScale("log", 90, 700), 10, 7)).toEqual([100, 200, 500]);
    const log = ticks(makeScale("log", 3000, 5e9), 1024, 7);
    expect(log.length).toBeLessThanOrEqual(7);
    expect(log.every((v) => Number.isInteger(Math.log2(v)) && v >= 3000 && v <= 5e9)).toBe(true);
  });

  test("tick texts drop needless zeros only", () => {
    expect(["1.00 GiB/s", "1.50 ms", "100 k", "0 B/s", "0.250 s", "10.0%"].map(tickText)).toEqual([
      "1 GiB/s",
      "1.5 ms",
      "100 k",
      "0 B/s",
      "0.25 s",
      "10%",
    ]);
  });
});
