// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { openAtlas } from "../lib/atlas";
import { smallReport } from "../lib/testing";
import { makeState, pin } from ".";
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
