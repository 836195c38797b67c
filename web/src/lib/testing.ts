// SPDX-License-Identifier: Apache-2.0
// A small report by hand, for tests: two operations, three block sizes, one cell that cannot be, one not reached.
import { gzipSync } from "node:zlib";
import { type Axis, type Column, type Dictionary, type ReportData, UnmeasuredCode } from "./report-data.gen";

export function column(encoding: Column["encoding"], raw: Uint8Array, rest: Partial<Column> = {}): Column {
  return {
    encoding,
    data: gzipSync(raw).toString("base64"),
    base: 0,
    step: 0,
    sign: 0,
    of: "",
    by: "",
    mirror: "",
    ...rest,
  };
}

export const u8 = (...values: number[]) => column("u8", Uint8Array.from(values));
export const f32 = (...values: number[]) => column("f32", new Uint8Array(Float32Array.from(values).buffer));

const all = (text: string, n: number): Dictionary => ({
  texts: [text],
  packed_texts: "",
  codes: u8(...new Array<number>(n).fill(0)),
});

const axis = (name: string, levels: Axis["levels"], rest: Partial<Axis> = {}): Axis => ({
  name,
  role: "option",
  unit: "none",
  numeric: levels.every((level) => typeof level === "number"),
  derived: false,
  levels,
  label: "",
  ...rest,
});

/** Rows: (read, 4k), (read, 64k), (write, 4k), (write, 64k) measured or not as given; (write, 1m) twice. */
export function smallReport(): ReportData {
  return {
    format: "ioatlas-report",
    version: 1,
    campaign: {
      id: "c",
      name: "small",
      created: "",
      tool_version: "0",
      seconds: 1,
      complete: true,
      n_visits: 10,
      n_discarded: 0,
    },
    summary: {
      name: "small",
      profile: "",
      seconds: 1,
      n_cells: 5,
      n_measured: 4,
      n_estimated: 1,
      n_imported: 0,
      n_visits: 10,
      complete: true,
      trust: "good",
      doubts: [],
      headlines: [],
      small: [],
      beside: [],
      sizes: [],
      whole_bytes: 0,
      bottlenecks: [],
      next_step: "",
    },
    units: "binary",
    targets: [{ name: "nas", kind: "directory", placeholder: "/place", facts: [] }],
    axes: [
      axis("target", ["nas"], { role: "target" }),
      axis("rw", ["read", "write"]),
      axis("bs", [4096, 65536, 1048576], { unit: "bytes" }),
      axis("direction", ["read", "write"], { role: "direction", derived: true }),
    ],
    constants: [
      { name: "numjobs", value: "4", unit: "none" },
      { name: "size", value: "2147483648", unit: "bytes" },
    ],
    cells: {
      n_rows: 5,
      axes: [u8(0, 0, 0, 0, 0), u8(0, 0, 1, 1, 1), u8(0, 1, 0, 2, 2), u8(0, 0, 1, 1, 1)],
      kind: { texts: ["measured", "predicted"], packed_texts: "", codes: u8(0, 0, 0, 1, 0) },
      mark: { texts: ["steady", "unstable", "suspect", "predicted"], packed_texts: "", codes: u8(0, 1, 2, 3, 0) },
      verdict: { texts: ["steady", "unstable", "over the link"], packed_texts: "", codes: u8(0, 1, 2, 0, 0) },
      method: all("t/1", 5),
      lat_kind: all("total", 5),
      loop: all("closed", 5),
      seeds: all("", 5),
      note: all("", 5),
      limit: all("", 5),
      limit_why: all("", 5),
      ceiling: all("", 5),
      grade: all("", 5),
      n_visits: u8(2, 2, 3, 0, 2),
      n_discarded: u8(0, 0, 1, 0, 0),
      values: {
        bw_bytes_per_s: f32(4096, 65536, 8192, 90000, 100000),
        bw_low: f32(4000, 60000, 8000, Number.NaN, 90000),
        bw_high: f32(4200, 70000, 8500, Number.NaN, 110000),
        window_seconds: f32(0.5, 0.5, 0.5, Number.NaN, 0.5),
        cut_seconds: f32(0.125, 0, 0, Number.NaN, 0),
      },
      resolution: 0,
      notes_left_out: false,
    },
    unmeasured: {
      n_rows: 2,
      axes: [u8(0, 0), u8(0, 1), u8(2, 1), u8(0, 1)],
      reason: { texts: ["not admissible: too large", "not reached"], packed_texts: "", codes: u8(0, 1) },
      code: { texts: [UnmeasuredCode.NOT_ADMISSIBLE, UnmeasuredCode.NOT_REACHED], packed_texts: "", codes: u8(0, 1) },
    },
    findings: [],
    settings: [],
    sessions: [],
    discard_reasons: [],
    costs: [],
    comparison: null,
    latency_curves: {
      percents: [50, 99],
      n: 2,
      row: u8(0, 2),
      n_ios: f32(1000, 2000),
      latencies: f32(1e5, Number.NaN, 2e5, 9e5),
      fewest_beyond: 5,
      left_out: false,
    },
    time_courses: {
      n: 2,
      row: u8(0, 0),
      purpose: all("sweep", 2),
      verdict: all("steady", 2),
      discarded: { texts: ["", "overlapped its neighbour"], packed_texts: "", codes: u8(0, 1) },
      started_seconds: column("u8", Uint8Array.from([1, 8]), { step: 1 }),
      cut_ms: u8(50, 0),
      n_points: u8(3, 2),
      end_ms: u8(50, 100, 150, 100, 200),
      bw_bytes_per_s: f32(100, 200, 300, Number.NaN, 400),
      lat_mean_ns: f32(1000, 2000, 3000, Number.NaN, 4000),
      left_out: false,
    },
    imported_methods: [],
    charts: [],
    tables: [],
    thumbnail: "",
    job: {
      global_lines: ["[global]", "thread=1"],
      engine_from_depth: ["psync", "libaio"],
      target_engine: {},
      has_engine: false,
      work_bounded: ["io_size"],
      constant_work_bounded: false,
      sharing: "shared",
      default_window_seconds: 0.5,
    },
  };
}
