// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { limitWords } from "./facts";

describe("what limits a cell", () => {
  test.each([
    ["link", 0.97, "almost certainly link (97%)"],
    ["link", 0.8, "very likely link (80%)"],
    ["client CPU", 0.55, "probably client CPU (55%)"],
    ["undetermined", Number.NaN, "undetermined"],
    ["link", null, "link"],
    ["", Number.NaN, ""],
  ])("%s at %s", (limit, probability, words) => {
    expect(limitWords(limit, probability)).toBe(words);
  });
});
