// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { PALETTES } from "../lib/palettes";
import { joined } from "../lib/slice";

test("the colours rise in lightness from end to end, so they read in grey", () => {
  const { words, light } = PALETTES.values;
  const grey = [...words].map((w) => 0.2126 * (w & 255) + 0.7152 * ((w >> 8) & 255) + 0.0722 * ((w >> 16) & 255));
  for (let i = 16; i < 256; i += 16) expect(grey[i]).toBeGreaterThan(grey[i - 16] ?? Number.POSITIVE_INFINITY);
  expect([light[0], light[255]]).toEqual([false, true]);
});

test("lines join measured neighbours and stop at predicted or missing cells", () => {
  const at = (mark: "steady" | "predicted" | "unmeasured" | "unstable", value: number) => ({
    level: 0,
    mark,
    value,
    low: 0,
    high: 0,
  });
  const line = [at("steady", 1), at("unstable", 2), at("predicted", 3), at("unmeasured", Number.NaN), at("steady", 4)];
  expect(joined(line, true).map((run) => run.map((p) => p.value))).toEqual([[1, 2]]);
  expect(joined(line, false)).toEqual([]);
  const imported = line.map((p) => ({
    ...p,
    mark: Number.isFinite(p.value) ? ("imported" as const) : ("absent" as const),
  }));
  expect(joined(imported, true).map((run) => run.map((p) => p.value))).toEqual([[1, 2, 3, 4]]);
});
