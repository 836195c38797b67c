// SPDX-License-Identifier: Apache-2.0
// Readings as the report's data, laid into the empty report that the page brings along.
import { groups } from "../lib/groups";
import type {
  Axis,
  Column,
  Dictionary,
  HeadlineData,
  LoadReadingData,
  ReportData,
  SmallIoData,
} from "../lib/report-data.gen";
import { size } from "../lib/units";
import type { Reading } from "./fio";

const OPTIONS = ["rw", "bs", "size", "numjobs", "iodepth", "rwmixread"];
const SMALL = 4096;

/** A column of bytes as the page's format has them: gzip, base64. */
async function column(encoding: Column["encoding"], values: Uint32Array | Float32Array): Promise<Column> {
  const packed = new Blob([values.buffer as ArrayBuffer]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const data = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  return { encoding, data, base: 0, step: 0, sign: 0, of: "", by: "", mirror: "" };
}

const whole = (values: readonly number[]) => column("u32", Uint32Array.from(values));
const floats = (values: readonly number[]) => column("f32", Float32Array.from(values));

async function texts(values: readonly string[]): Promise<Dictionary> {
  const known = [...new Set(values)];
  return { texts: known, packed_texts: "", codes: await whole(values.map((text) => known.indexOf(text))) };
}

/** A reading with the name of the set that it is of. */
interface Row extends Reading {
  set: string;
}

/** Sets are named by fio and its version, and by what tells apart what would stand in one cell. */
function inSets(readings: readonly Reading[]): Row[] {
  let rows = readings.map((one): Row => ({ ...one, set: `fio ${one.version}`.trim() }));
  const cellOf = (one: Row) => JSON.stringify([one.set, one.load, one.direction]);
  const hosts = [...new Set(readings.map((one) => one.host).filter(Boolean))];
  const further: ((one: Row, i: number) => string | number)[] = [
    (one) => (one.host ? `host ${hosts.indexOf(one.host) + 1}` : ""),
    (one) => one.file,
    (one) => one.job,
    (one, i) => rows.slice(0, i + 1).filter((other) => cellOf(other) === cellOf(one)).length,
  ];
  for (const part of further) {
    const cells = groups(rows, cellOf);
    const clash = new Set([...cells.values()].flatMap((all) => (all.length > 1 ? all.map((one) => one.set) : [])));
    const told = rows.map(part);
    const splits = (set: string) => new Set(told.filter((_, i) => rows[i]?.set === set)).size > 1;
    const apart = new Set([...clash].filter(splits));
    rows = rows.map((one, i) =>
      apart.has(one.set) && told[i] !== "" ? { ...one, set: `${one.set}, ${told[i]}` } : one,
    );
  }
  return rows;
}

type Level = number | string | null;

/** The levels of what differs, numbers ascending, what is not told last. */
function levelsOf(values: readonly Level[]): Level[] {
  const told = [...new Set(values)].filter((value) => value !== null);
  if (told.every((value) => typeof value === "number")) told.sort((a, b) => Number(a) - Number(b));
  return values.includes(null) ? [...told, null] : told;
}

const unitOf = (option: string) =>
  option === "bs" || option === "size" ? "bytes" : option === "rwmixread" ? "percent" : "none";

/** The readings as a report. template: an empty one, made by the same program as the page. */
export async function reportOf(template: ReportData, found: readonly Reading[], name: string): Promise<ReportData> {
  const [first] = found;
  const unsorted = inSets(found);
  const varied = OPTIONS.filter((option) => new Set(found.map((one) => one.load[option])).size > 1);
  const same = OPTIONS.filter((option) => !varied.includes(option) && first?.load[option] !== undefined);
  const names = ["target", ...varied, "direction"];
  const levelOf = (one: Row, axis: string): Level =>
    axis === "target" ? one.set : axis === "direction" ? one.direction : (one.load[axis] ?? null);
  const levels = names.map((axis) => levelsOf(unsorted.map((one) => levelOf(one, axis))));
  const placeOf = (one: Row) => names.map((axis, a) => levels[a]?.indexOf(levelOf(one, axis)) ?? 0);
  const rows = unsorted
    .map((one) => ({ one, place: placeOf(one) }))
    .sort((u, v) => u.place.reduce((sum, level, a) => sum || level - (v.place[a] ?? 0), 0))
    .map(({ one }) => one);
  const places = rows.map(placeOf);
  const points = new Set(places.map((place) => place.slice(0, -1).join()));
  const derived = points.size === new Set(places.map((place) => place.join())).size;
  const axes = names.map((axis, a): Axis => {
    const role = axis === "target" || axis === "direction" ? axis : "option";
    const numeric = levels[a]?.every((level) => typeof level === "number") ?? false;
    const own = { numeric, derived: role === "direction" && derived, levels: levels[a] ?? [] };
    return { name: axis, role, unit: unitOf(axis), ...own, label: "" };
  });
  const all = (text: string) => texts(rows.map(() => text));
  const curves = rows.flatMap((one, row) => (one.latency && one.latency.samples > 0 ? [{ ...one.latency, row }] : []));
  const { percents, fewest_beyond } = template.latency_curves;
  const ends = curves.flatMap((one) =>
    percents.map((p) => ((one.samples * Math.min(p, 100 - p)) / 100 < fewest_beyond ? Number.NaN : one.at(p))),
  );
  const sets = [...groups(rows, (one) => one.set)];
  return {
    ...template,
    campaign: { ...template.campaign, id: "fio", name },
    summary: {
      ...template.summary,
      name,
      n_cells: points.size,
      n_imported: points.size,
      trust: "fair",
      doubts: doubtsOf(rows),
      headlines: ["read", "write"].flatMap((direction) => bestOf(rows, direction)),
      small: ["read", "write"].flatMap((direction) => smallOf(rows, direction)),
      next_step: "",
    },
    targets: sets.map(([set]) => ({ name: set, kind: "imported", placeholder: "/path/to/the/target", facts: [] })),
    axes,
    constants: same.map((option) => ({ name: option, value: String(first?.load[option]), unit: unitOf(option) })),
    cells: {
      ...template.cells,
      n_rows: rows.length,
      axes: await Promise.all(names.map((_, a) => whole(places.map((place) => place[a] ?? 0)))),
      kind: await all("imported"),
      mark: await texts(rows.map((one) => (one.doubted ? "suspect" : "imported"))),
      verdict: await all("single run"),
      method: await texts(rows.map((one) => `fio ${one.version}`.trim())),
      lat_kind: await texts(rows.map((one) => one.latKind)),
      note: await texts(rows.map((one) => one.notes.join("; "))),
      values: {
        bw_bytes_per_s: await floats(rows.map((one) => one.bw)),
        iops: await floats(rows.map((one) => one.iops)),
        lat_mean_ns: await floats(rows.map((one) => one.mean)),
        lat_p99_ns: await floats(rows.map((one) => one.p99)),
      },
    },
    latency_curves: {
      ...template.latency_curves,
      n: curves.length,
      row: await whole(curves.map((one) => one.row)),
      n_ios: await floats(curves.map((one) => one.samples)),
      latencies: await floats(ends),
    },
    imported_methods: sets.map(([set, of]) => {
      const caches = new Set(of.map((one) => (one.buffered ? "buffered" : "direct")));
      return { target: set, facts: [{ name: "page cache", value: [...caches].join(", "), unit: "none" }] };
    }),
  };
}

function doubtsOf(rows: readonly Row[]): ReportData["summary"]["doubts"] {
  const doubted = rows.flatMap((one, row) => (one.doubted ? [row] : []));
  const why = "One run of fio each, without logs: steady state, warm-up and caches could not be checked.";
  const advice = "measure the same loads with `ioatlas map`, then `compare`";
  const left = "Left out of the best: figures that contradict each other, or a run that failed.";
  const all = [{ code: "imported", level: "fair" as const, sentence: why, advice, rows: [] as number[] }];
  if (doubted.length > 0) all.push({ code: "imported", level: "fair", sentence: left, advice: "", rows: doubted });
  return all;
}

/** Those of one direction that may stand for all: the largest file of each set and operation, which caches hold least of. */
function rivals(rows: readonly Row[], direction: string): Row[] {
  const sound = rows.filter((one) => one.direction === direction && !one.doubted);
  const size = (one: Row) => Number(one.load.size ?? 0);
  const alike = (a: Row, b: Row) => a.set === b.set && a.load.rw === b.load.rw;
  return sound.filter((one) => size(one) === 0 || sound.every((two) => !alike(one, two) || size(two) <= size(one)));
}

function bestOf(rows: readonly Row[], direction: string): HeadlineData[] {
  const [best] = rivals(rows, direction).sort(
    (a, b) => Number(a.buffered) - Number(b.buffered) || (b.bw || 0) - (a.bw || 0),
  );
  if (!best?.bw) return [];
  const { rw = "", bs, numjobs, iodepth } = best.load;
  const told = [rw, bs && size(Number(bs), "iec"), numjobs && `numjobs ${numjobs}`, iodepth && `iodepth ${iodepth}`];
  const faster = rows.filter((other) => other.direction === direction && other.bw > best.bw).length;
  const tie = faster > 0 ? `${faster} faster not ranked: smaller file, cache or contradiction` : "";
  return [
    {
      ...{ row: rows.indexOf(best), ties: [], uncertainty: null, moved: null, low: null, high: null, first: null },
      lopsided: false,
      ...{ n_visits: 0, lower_bound: false, estimated: false, limit: "", limit_probability: null, unit: "" },
      ...{ label: `Best ${direction}`, target: best.set, direction, quantity: "bw_bytes_per_s", grade: null },
      ...{ value: best.bw, where: told.filter(Boolean).join(", "), tie, held_seconds: null },
    },
  ];
}

/** 4 KiB random I/O of the set that does most of it: at the fewest I/Os in flight, and where it does most. */
function smallOf(rows: readonly Row[], direction: string): SmallIoData[] {
  const rw = `rand${direction}`;
  const small = rivals(rows, direction).filter((one) => one.load.bs === SMALL && one.load.rw === rw && one.iops);
  const [best] = small.toSorted((a, b) => b.iops - a.iops);
  if (!best) return [];
  const flying = ({ load }: Row) =>
    "numjobs" in load || "iodepth" in load ? Number(load.numjobs ?? 1) * Number(load.iodepth ?? 1) : 0;
  const known = (value: number) => (Number.isNaN(value) ? null : value);
  const loadOf = (one: Row): LoadReadingData => ({
    ...{ row: rows.indexOf(one), in_flight: flying(one), iops: one.iops, estimated: false, grade: null, limit: "" },
    ...{ lat_mean_ns: known(one.mean), lat_p99_ns: known(one.p99), held_seconds: null },
  });
  const [lightest = best] = small.filter((one) => one.set === best.set).sort((a, b) => flying(a) - flying(b));
  const ends = { lightest: loadOf(lightest), best: loadOf(best) };
  return [{ ...ends, label: `4 KiB random ${direction}`, target: best.set, direction, rw, bs_bytes: SMALL }];
}
