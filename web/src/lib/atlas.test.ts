// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { arrange, place } from "./arrange";
import { liveAxes, markOf, openAtlas, optionAt, slotAt } from "./atlas";
import { csv, isText } from "./csv";
import { openValues } from "./decode";
import { factsAt, intervalText, othersAt, spoken } from "./facts";
import { jobText } from "./job";
import { sortedRows } from "./order";
import type { Quantity } from "./quantities";
import { QUANTITIES, reading } from "./quantities";
import { ceilings, slice } from "./slice";
import { column, f32, smallReport, u8 } from "./testing";
import { reasons } from "./unmeasured";

const quantity = (id: string) => QUANTITIES.find((q) => q.id === id) as Quantity;

describe("a report opened", () => {
  test("finds what stands at a point, and how it is marked", async () => {
    const atlas = await openAtlas(smallReport());
    const marks = [0, 1].map((rw) => [0, 1, 2].map((bs) => markOf(atlas, slotAt(atlas, [0, rw, bs, -1]))));
    expect(marks).toEqual([
      ["steady", "unstable", "inadmissible"],
      ["suspect", "unmeasured", "steady"],
    ]);
    expect(atlas.nAbsent).toBe(0);
  });

  test("a measured row stands before a predicted one of the same cell, which is kept beside it", async () => {
    const atlas = await openAtlas(smallReport());
    expect(slotAt(atlas, [0, 1, 2, -1])).toBe(5);
    expect(othersAt(atlas, [0, 1, 2, -1])).toEqual([3]);
  });

  test("derived and single-level axes are not navigated", async () => {
    const atlas = await openAtlas(smallReport());
    expect(liveAxes(atlas)).toEqual([1, 2]);
  });

  test("refuses a version it does not know", async () => {
    await expect(openAtlas({ ...smallReport(), version: 2 as 1 })).rejects.toThrow("does not know");
  });

  test("options are found on axes and among the constants", async () => {
    const atlas = await openAtlas(smallReport());
    expect(optionAt(atlas, 2, "bs")).toBe(65536);
    expect(optionAt(atlas, 2, "numjobs")).toBe("4");
    expect(optionAt(atlas, 2, "iodepth")).toBeUndefined();
  });
});

describe("columns", () => {
  test("log codes, widths with a mirror, and quotients come back as described", async () => {
    const report = smallReport();
    report.cells.n_rows = 3;
    const levels = [u8(0, 0, 0), u8(0, 0, 0), u8(0, 1, 2), u8(0, 0, 0)];
    const [base, step] = [Math.log(1000), Math.log(2)];
    report.cells.values = {
      // Codes 1, 3 and 0 (unknown), low bytes before high bytes.
      bw_bytes_per_s: column("log16", Uint8Array.from([1, 3, 0, 0, 0, 0]), { base, step }),
      // Widths: code 2 is exp(base), code 1 none, code 0 withheld; the lower bound's codes are 2, 0, 0.
      bw_high: column("width8", Uint8Array.from([2, 1, 0]), {
        base: Math.log(0.1),
        step: 1,
        sign: 1,
        of: "bw_bytes_per_s",
      }),
      bw_low: column("width8", Uint8Array.from([0, 255, 0]), {
        base: Math.log(0.1),
        step: 1,
        sign: -1,
        of: "bw_bytes_per_s",
        mirror: "bw_high",
      }),
      iops: column("quotient", new Uint8Array(), { of: "bw_bytes_per_s", by: "bs" }),
    };
    const atlasLevels = await Promise.all(levels.map(async () => new Uint8Array([0, 1, 2])));
    const got = await openValues(report.cells, report.axes, atlasLevels);
    expect(got.at("bw_bytes_per_s", 0)).toBeCloseTo(1000, 9);
    expect(got.at("bw_bytes_per_s", 1)).toBeCloseTo(4000, 9);
    expect(got.at("bw_bytes_per_s", 2)).toBeNaN();
    expect(got.at("bw_high", 0)).toBeCloseTo(1000 * Math.exp(0.1), 9);
    expect(got.at("bw_low", 0)).toBeCloseTo(1000 * Math.exp(-0.1), 9);
    expect(got.at("bw_high", 1)).toBeCloseTo(4000, 9);
    expect(got.at("bw_low", 1)).toBeNaN();
    expect(got.at("iops", 1)).toBeCloseTo(4000 / 65536, 12);
    expect(got.at("watts", 0)).toBeNaN();
  });

  test("a column that is made from one that the page lacks is an error, not unknown values", async () => {
    const { cells, axes } = smallReport();
    cells.values.iops = column("quotient", new Uint8Array(), { of: "absent", by: "bs" });
    await expect(openValues(cells, axes, [])).rejects.toThrow("absent");
  });
});

describe("what a cell says", () => {
  test("every number with interval, visits, verdict and method", async () => {
    const atlas = await openAtlas(smallReport());
    const facts = factsAt(atlas, 1, "iec");
    expect(facts.lines.find((line) => line.id === "throughput")).toMatchObject({
      value: "4 KiB/s",
      interval: "3.91 to 4.1 KiB/s",
    });
    expect(facts.lines.find((line) => line.id === "per_job")).toMatchObject({ value: "1 KiB/s" });
    expect(facts.lines.find((line) => line.id === "width")?.value).toBe("4.9%");
    expect(spoken(facts, "here")).toBe(
      "here: Throughput 4 KiB/s (3.91 to 4.1 KiB/s); Throughput per job 1 KiB/s (0.977 to 1.03 KiB/s); " +
        "Interval width 4.9%; Visits 2 visits; steady; measured by t/1",
    );
    expect(factsAt(atlas, -1, "iec").reason).toBe("not admissible: too large");
  });

  test("an interval that was not given is not shown", async () => {
    const atlas = await openAtlas(smallReport());
    expect(factsAt(atlas, 4, "iec").lines[0]?.interval).toBe("");
    expect(intervalText(Number.NaN, 3, String)).toBe("");
  });

  test("a slice has gaps where there is nothing", async () => {
    const atlas = await openAtlas(smallReport());
    const line = slice(atlas, reading(atlas, quantity("throughput")), [0, 1, 0, -1], 2);
    expect(line.map((p) => [p.mark, p.value])).toEqual([
      ["suspect", 8192],
      ["unmeasured", Number.NaN],
      ["steady", 100000],
    ]);
  });
});

describe("the bounds of a slice", () => {
  test("each point has its own, and its name", async () => {
    const report = smallReport();
    report.cells.values.ceiling_bytes_per_s = f32(50000, 200000, Number.NaN, 1e6, 1e6);
    report.cells.ceiling = { texts: ["", "1 job", "4 jobs"], packed_texts: "", codes: u8(1, 2, 0, 0, 0) };
    const atlas = await openAtlas(report);
    const bounds = ceilings(atlas, reading(atlas, quantity("throughput")), [0, 0, 0, -1], 2);
    expect(bounds.names).toEqual(["1 job", "4 jobs", ""]);
    expect(bounds.values).toEqual([50000, 200000, Number.NaN]);
  });
});

describe("the job of a cell", () => {
  test("bare integers, a placeholder, the engine that fits the depth, window plus cut", async () => {
    const atlas = await openAtlas(smallReport());
    expect(jobText(atlas, 1)).toBe(
      "; ioatlas 0, one cell of a campaign\n; put the target in place of /place\n[global]\nthread=1\n\n[cell]\n" +
        "filename=/place/ioatlas-by-hand\nrw=read\nbs=4096\nioengine=psync\ntime_based=1\nruntime=625ms\n",
    );
  });

  test("private files have a directory, deeper queues an asynchronous engine, work has no clock", async () => {
    const report = smallReport();
    report.job.sharing = "private";
    report.constants.push({ name: "iodepth", value: "8", unit: "none" });
    report.job.constant_work_bounded = true;
    const text = jobText(await openAtlas(report), 1);
    expect(text).toContain("directory=/place\n");
    expect(text).toContain("ioengine=libaio\n");
    expect(text).not.toContain("time_based");
  });

  test("a cell that was not measured says why, on a comment line", async () => {
    const report = smallReport();
    report.unmeasured.reason.texts = ["not admissible: a\nexec_prerun=rm", "not reached"];
    const text = jobText(await openAtlas(report), -1);
    expect(text).toContain("; not measured: not admissible: a exec_prerun=rm\n");
  });
});

describe("tables", () => {
  test("CSV has the fixed names, exact integers and empty unknowns", async () => {
    const lines = csv(await openAtlas(smallReport()), [0, 3]).split("\r\n");
    expect(lines[1]).toBe("nas,read,4096,2147483648,4,1,read,measured,2,4096,4000,4200,,,,total,steady,t/1");
    expect(lines[2]).toBe("nas,write,1048576,2147483648,4,1,write,predicted,0,90000,,,,,,total,steady,t/1");
  });

  test("CSV quotes what needs it", async () => {
    const report = smallReport();
    report.cells.verdict.texts = ['a "b", c', "x", "y"];
    expect(csv(await openAtlas(report), [0])).toContain(',"a ""b"", c",');
  });

  test("a column of texts is one also where its first row has none", async () => {
    const report = smallReport();
    for (const axis of report.axes.filter(({ name }) => name === "direction")) axis.levels = [null, "write"];
    const atlas = await openAtlas(report);
    expect(["direction", "verdict", "n_visits", "bs_bytes", "iops"].filter((field) => isText(atlas, field))).toEqual([
      "direction",
      "verdict",
    ]);
  });

  test("sorting puts unknown values last both ways", async () => {
    const report = smallReport();
    report.cells.values.iops = f32(3, Number.NaN, 1, 2, Number.NaN);
    const atlas = await openAtlas(report);
    const rows = [0, 1, 2, 3, 4];
    expect(sortedRows(atlas, rows, { field: "iops", down: false })).toEqual([2, 3, 0, 1, 4]);
    expect(sortedRows(atlas, rows, { field: "iops", down: true })).toEqual([0, 3, 2, 1, 4]);
    expect(sortedRows(atlas, rows, { field: "rw", down: true }).slice(0, 3)).toEqual([2, 3, 4]);
  });

  test("what was not measured is grouped by its reason", async () => {
    const groups = reasons(await openAtlas(smallReport()));
    expect(groups.map((g) => [g.reason, g.n, g.where.map((w) => w.axis.name)])).toEqual([
      ["not admissible: too large", 1, ["rw", "bs"]],
      ["not reached", 1, ["rw", "bs"]],
    ]);
  });
});

describe("arrangement", () => {
  const names = (live: [string, number][]) => {
    const report = smallReport();
    report.axes = live.map(([name, n]) => ({
      name,
      role: "option",
      unit: "none",
      numeric: name !== "rw" && name !== "target",
      derived: false,
      levels: Array.from({ length: n }, (_, i) => i),
      label: "",
    }));
    report.cells = { ...report.cells, n_rows: 0, axes: live.map(() => u8()), values: {} };
    report.unmeasured = { ...report.unmeasured, n_rows: 0, axes: live.map(() => u8()) };
    return openAtlas(report).then((atlas) => {
      const chosen = arrange(atlas);
      const name = (a: number) => atlas.axes[a]?.name ?? "";
      return [chosen.x, chosen.y, chosen.columns, chosen.rows].map(name);
    });
  };

  test("file size across, block size up, jobs and a second axis over the tiles", async () => {
    expect(
      await names([
        ["target", 9],
        ["rw", 2],
        ["bs", 10],
        ["size", 12],
        ["numjobs", 8],
        ["iodepth", 8],
      ]),
    ).toEqual(["size", "bs", "numjobs", "iodepth"]);
    expect(
      await names([
        ["rw", 2],
        ["bs", 10],
        ["size", 12],
        ["numjobs", 8],
      ]),
    ).toEqual(["size", "bs", "numjobs", "rw"]);
  });

  test("without a file size, or with a single axis, or with words only", async () => {
    expect(
      await names([
        ["rw", 2],
        ["bs", 10],
        ["iodepth", 8],
      ]),
    ).toEqual(["iodepth", "bs", "rw", ""]);
    expect(await names([["bs", 10]])).toEqual(["bs", "", "", ""]);
    expect(await names([["rw", 2]])).toEqual(["rw", "", "", ""]);
    expect(
      await names([
        ["rw", 3],
        ["target", 2],
      ]),
    ).toEqual(["rw", "target", "", ""]);
    expect(await names([])).toEqual(["", "", "", ""]);
  });

  test("an axis put where another stands trades places with it", () => {
    const before = { x: 0, y: 1, columns: 2, rows: -1 };
    expect(place(before, "x", 2)).toEqual({ x: 2, y: 1, columns: 0, rows: -1 });
    expect(place(before, "y", 5)).toEqual({ x: 0, y: 5, columns: 2, rows: -1 });
    expect(place(before, "columns", -1)).toEqual({ x: 0, y: 1, columns: -1, rows: -1 });
  });
});
