// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { makeState } from "../app-state";
import { DOUBTED, type Mark, openAtlas } from "./atlas";
import { firstQuantity, inOneUnit, quantitiesOf } from "./quantities";
import type { HeadlineData, ReportData } from "./report-data.gen";
import { smallReport } from "./testing";

const label = (all: ReturnType<typeof quantitiesOf>, id: string) => all.find((each) => each.id === id)?.label;

/** The small report as one of another kind: its first axis under a name of that kind, its answer in another quantity. */
function told(axis: string, quantity: HeadlineData["quantity"]): ReportData {
  const report = smallReport();
  const [first] = report.axes.filter((each) => each.role === "option");
  if (first) first.name = axis;
  const bytes = report.cells.values.bw_bytes_per_s;
  if (bytes) report.cells.values.iops = bytes;
  report.summary.headlines = [{ quantity } as HeadlineData];
  return report;
}

describe("the scale of a map", () => {
  it("ends at the fastest value that is believed", async () => {
    const atlas = await openAtlas(smallReport());
    (atlas.marks as Mark[])[4] = "suspect";
    expect([...DOUBTED]).toEqual(["unstable", "disagree", "suspect"]);
    const { reading, scale } = makeState(atlas, false);
    expect(reading.value.value[4]).toBe(100_000);
    expect(scale.value.to).toBe(90_000);
  });

  it("has one unit, the largest that a value reaches", () => {
    const throughput = quantitiesOf({ axes: [], data: { summary: { headlines: [] } } } as never)[0];
    const write = throughput && inOneUnit(throughput, 1010 * 1024 ** 2, "iec");
    expect(write?.unit).toBe("MiB/s");
    expect([1010 * 1024 ** 2, 48.1 * 1024 ** 2, 20_000].map((v) => write?.text(v))).toEqual(["1010", "48.1", "0.019"]);
    expect(throughput && inOneUnit(throughput, 2e9, "si").unit).toBe("GB/s");
  });
});

describe("what a map opens on", () => {
  it("is throughput for loads", async () => {
    const atlas = await openAtlas(told("bs", "bw_bytes_per_s"));
    expect(firstQuantity(atlas)).toBe("throughput");
    expect(label(quantitiesOf(atlas), "iops")).toBe("IOPS");
  });

  it("is operations a second for names and small files", async () => {
    const atlas = await openAtlas(told("operation", "iops"));
    expect(makeState(atlas, false).quantity.value.label).toBe("Operations/s");
    expect(label(quantitiesOf(atlas), "lat_mean")).toBe("Mean time");
  });

  it("is not that for a load told in I/Os, nor for operations told in bytes", async () => {
    expect(firstQuantity(await openAtlas(told("bs", "iops")))).toBe("throughput");
    expect(firstQuantity(await openAtlas(told("operation", "bw_bytes_per_s")))).toBe("throughput");
  });
});
