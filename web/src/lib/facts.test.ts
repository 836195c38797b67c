// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { limitWords } from "./facts";

describe("what limits a cell", () => {
  test.each([
    ["link", 0.97, "link (97%)"],
    ["client CPU", 0.55, "client CPU (55%)"],
    ["undetermined", Number.NaN, "undetermined"],
    ["link", null, "link"],
    ["", Number.NaN, ""],
  ])("%s at %s", (limit, probability, words) => {
    expect(limitWords(limit, probability)).toBe(words);
  });
});
