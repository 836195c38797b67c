// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { openAtlas } from "../lib/atlas";
import { smallReport } from "../lib/testing";
import { makeState, pin, placeOf, pointAt, showRows } from ".";
import { countHidden, hide, isRowSeen, seenLevels, setSeen } from "./filters";
import { follow, linkOf } from "./link";

const fresh = async () => makeState(await openAtlas(smallReport()), false);

test("a link opens another page of the same campaign where the first one was", async () => {
  const [mine, theirs] = [await fresh(), await fresh()];
  mine.view.value = "latency";
  mine.scaleChoice.value = "log";
  mine.units.value = "si";
  mine.arrangement.value = { x: 2, y: 1, columns: -1, rows: -1 };
  pin(mine, [0, 1, 2, -1]);
  expect(linkOf(theirs)).not.toBe(linkOf(mine));
  follow(theirs, linkOf(mine));
  expect(linkOf(theirs)).toBe(linkOf(mine));
  expect(theirs.pinnedPoint.value).toEqual([0, 1, 2, -1]);
});

test("what the campaign does not have is passed over", async () => {
  const state = await fresh();
  const before = linkOf(state);
  follow(state, "#not-measured");
  expect(linkOf(state)).toBe(before);
  follow(state, "#view=map&quantity=watts&x=nothing&y=bs&cell.bs=12345&cell.rw=write");
  expect(state.quantityId.value).toBe("throughput");
  expect(state.arrangement.value.x).toBeGreaterThanOrEqual(0);
  expect(linkOf(state)).toContain("cell.rw=write");
  follow(state, "#view=map&x=bs&y=bs");
  expect(state.arrangement.value.x).not.toBe(state.arrangement.value.y);
});

test("values that are hidden have no place, and a link keeps them hidden", async () => {
  const [mine, theirs] = [await fresh(), await fresh()];
  mine.arrangement.value = { x: 2, y: 1, columns: -1, rows: -1 };
  const all = mine.shape.value.nx;
  const levels = mine.atlas.axes[2]?.levels.length ?? 0;
  expect(all).toBe(levels);
  pin(mine, [0, 0, 0, -1]);
  setSeen(mine, 2, 0, false);
  expect(mine.shape.value.nx).toBe(all - 1);
  expect(mine.seen.value[2]).not.toContain(0);
  // What stands first is the next value, and the cell looked at has moved to it.
  expect(pointAt(mine, { x: 0, y: 0, column: 0, row: 0 })[2]).toBe(1);
  expect(mine.pinnedPoint.value?.[2]).toBe(1);
  expect(placeOf(mine, [0, 0, 1, -1]).x).toBe(0);
  follow(theirs, linkOf(mine));
  expect(linkOf(theirs)).toBe(linkOf(mine));
  expect(theirs.seen.value).toEqual(mine.seen.value);
  follow(theirs, linkOf(await fresh()));
  expect(countHidden(theirs.hidden.value)).toBe(0);
});

test("the last value of an axis stays, and a finding shows what was hidden", async () => {
  const state = await fresh();
  const levels = state.atlas.axes[2]?.levels ?? [];
  for (const level of levels.keys()) setSeen(state, 2, level, false);
  expect(state.seen.value[2]).toHaveLength(1);
  const row = [...(state.atlas.levels[2] ?? [])].findIndex((level) => !state.seen.value[2]?.includes(level));
  expect(isRowSeen(state.atlas, state.hidden.value, row)).toBe(false);
  showRows(state, [row]);
  expect(isRowSeen(state.atlas, state.hidden.value, row)).toBe(true);
  hide(state, new Map());
  expect(state.seen.value).toEqual(seenLevels(state.atlas, new Map()));
});
