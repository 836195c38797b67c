// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { bytes, count, duration, latency, percent, rate, significant, size, whole } from "./units";

describe("units", () => {
  test("three significant digits at most, never an exponent", () => {
    expect([0, 0.001234, 0.9996, 9.996, 99.96, 999.6, 123456].map((v) => significant(v))).toEqual([
      "0",
      "0.00123",
      "1",
      "10",
      "100",
      "1000",
      "123456",
    ]);
    expect(significant(Number.NaN)).toBe("–");
  });

  test("binary units by default, decimal on request, and never a bare MB for a MiB", () => {
    expect(bytes(1048576, "iec")).toBe("1 MiB");
    expect(bytes(1048576, "si")).toBe("1.05 MB");
    expect(bytes(1023.9 * 1024, "iec")).toBe("1 MiB");
    expect(rate(117.7e6, "si")).toBe("118 MB/s");
    expect(rate(Number.NaN, "iec")).toBe("–");
  });

  test("a chosen size is exact where it can be", () => {
    expect([4096, 1 << 20, 3 << 29, 1000, 4097].map((v) => size(v, "iec"))).toEqual([
      "4 KiB",
      "1 MiB",
      "1.50 GiB",
      "1000 B",
      "4.00 KiB",
    ]);
    expect(size(4096, "si")).toBe("4.10 kB");
    expect(size(2_000_000, "si")).toBe("2 MB");
  });

  test("latencies, counts, shares and durations", () => {
    expect([84.2, 84_200, 1_050_000, 2.3e9, 999_900].map(latency)).toEqual([
      "84.2 ns",
      "84.2 µs",
      "1.05 ms",
      "2.3 s",
      "1 ms",
    ]);
    expect([950, 12_400, 1_200_000, 999.9].map(count)).toEqual(["950", "12.4 k", "1.2 M", "1000"]);
    expect([0.0213, 0.5, 1.5].map(percent)).toEqual(["2.1%", "50%", "150%"]);
    expect([0.5, 42, 200, 7500].map(duration)).toEqual(["500 ms", "42 s", "3 min 20 s", "2 h 05 min"]);
    expect(whole(138240)).toBe("138\u202f240");
  });
});
