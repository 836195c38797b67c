// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { share, words } from "./RunningBar";

const PROGRESS = { event: "progress", visits_done: 12, visits_planned: 30, seconds_left: 80, elapsed_seconds: 20 };

test("how far a session is, and what it measures now", () => {
  expect(words({ ...PROGRESS, rw: "randread", bs_bytes: 4096, numjobs: 4, iodepth: 4 })).toBe(
    "12 of 42 visits, 1 min 20 s left, now randread 4 KiB x16",
  );
  expect(share(PROGRESS)).toBeCloseTo(0.2);
});

test("a budget is what it takes at most", () => {
  expect(words({ ...PROGRESS, budget_seconds: 60 })).toContain("40 s left at most");
  expect(share({ ...PROGRESS, budget_seconds: 60 })).toBeCloseTo(1 / 3);
});

test("before anything is known it is getting ready", () => {
  expect(words({})).toBe("getting ready");
  expect(share({})).toBeUndefined();
  expect(words({ event: "layout", target: "nas", bytes: 2048, bytes_done: 1024 })).toBe(
    "writing files on nas: 1 KiB of 2 KiB",
  );
});
