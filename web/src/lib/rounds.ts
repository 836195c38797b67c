// SPDX-License-Identifier: Apache-2.0
// Geometry of a steady-state plot: the tracked value against the round, its measurement window and the lines of the test.
import type { RoundsData } from "./report-data.gen";
import { makeScale, ticks } from "./scale";

export const ROUNDS_BOX = { width: 720, height: 280, left: 92, right: 92, top: 12, bottom: 40 };

interface At {
  x: number;
  y: number;
}

export interface Bound {
  name: string;
  kind: "average" | "limit" | "fit";
  from: At;
  to: At;
}

export interface RoundsDrawn {
  points: (At & { round: number; value: number; inside: boolean })[];
  window: { from: number; to: number } | null;
  bounds: Bound[];
  xTicks: { at: number; value: number }[];
  yTicks: { at: number; value: number }[];
}

export function placeRounds(test: RoundsData): RoundsDrawn {
  const box = ROUNDS_BOX;
  const last = Math.max(test.values.length, 2);
  const average = test.average ?? 0;
  const high = Math.max(...test.values, average * 1.1, Number.MIN_VALUE) * 1.06;
  const inner = { width: box.width - box.left - box.right, height: box.height - box.top - box.bottom };
  const px = (round: number) => box.left + 10 + ((inner.width - 20) * (round - 1)) / (last - 1);
  const py = (value: number) => box.top + inner.height * (1 - Math.max(0, value) / high);
  const [first, end] = test.window ?? [0, -1];
  const inside = (round: number) => first !== undefined && end !== undefined && round >= first && round <= end;
  const bounds: Bound[] = [];
  if (test.window && test.average !== null && first !== undefined && end !== undefined) {
    const across = (name: string, kind: Bound["kind"], a: number, b: number) => {
      bounds.push({ name, kind, from: { x: px(first), y: py(a) }, to: { x: px(end), y: py(b) } });
    };
    across("+10%", "limit", average * 1.1, average * 1.1);
    across("average", "average", average, average);
    across("−10%", "limit", average * 0.9, average * 0.9);
    if (test.line) across("", "fit", test.line[0] ?? average, test.line[1] ?? average);
  }
  const every = Math.max(1, Math.ceil(test.values.length / 13));
  return {
    points: test.values.map((value, i) => ({ x: px(i + 1), y: py(value), round: i + 1, value, inside: inside(i + 1) })),
    window: test.window && first !== undefined && end !== undefined ? { from: px(first) - 8, to: px(end) + 8 } : null,
    bounds,
    xTicks: test.values.flatMap((_, i) => (i % every === 0 ? [{ at: px(i + 1), value: i + 1 }] : [])),
    yTicks: ticks({ ...makeScale("linear", 0, high), from: 0, to: high }, 10, 5).map((value) => ({
      at: py(value),
      value,
    })),
  };
}
