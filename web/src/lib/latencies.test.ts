// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { longestStallMs, openLatencies, placeOfPercent } from "./latencies";
import { smallReport } from "./testing";

test("curves and courses come back by row, in their order, each with its own points", async () => {
  const { percents, curves, courses } = await openLatencies(smallReport());
  expect(percents).toEqual([50, 99]);
  expect([...curves.keys()]).toEqual([0, 2]);
  expect(curves.get(0)?.latencies[0]).toBe(1e5);
  expect(curves.get(0)?.latencies[1]).toBeNaN();
  expect(curves.get(2)).toEqual({ nIos: 2000, latencies: Float64Array.of(2e5, 9e5) });
  const [first, second] = courses.get(0) ?? [];
  expect(first).toMatchObject({ discarded: "", cutMs: 50, endMs: [50, 100, 150], rates: [100, 200, 300] });
  expect(second).toMatchObject({ discarded: "overlapped its neighbour", startedSeconds: 9, rates: [0, 400] });
  expect(courses.get(1)).toBeUndefined();
});

test("a stall is the longest time without an I/O", async () => {
  const [first, second] = (await openLatencies(smallReport())).courses.get(0) ?? [];
  expect(first && longestStallMs(first)).toBe(0);
  expect(second && longestStallMs(second)).toBe(100);
});

test("each nine of a percentile takes the same room", () => {
  const [p90, p99, p999] = [90, 99, 99.9].map(placeOfPercent);
  expect((p99 ?? 0) - (p90 ?? 0)).toBeCloseTo(1);
  expect((p999 ?? 0) - (p99 ?? 0)).toBeCloseTo(1);
});
