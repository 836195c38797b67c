// SPDX-License-Identifier: Apache-2.0
// Readings as the report's data, laid into the empty report that the page brings along.
import type { Axis, Column, Dictionary, HeadlineData, ReportData, SmallIoData } from "../lib/report-data.gen";
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

/** A name of the set each reading is of: fio and its version, and what tells apart what would stand in one cell. */
function namesOf(readings: readonly Reading[]): string[] {
  const places = readings.map((one) => JSON.stringify([one.load, one.direction]));
  let names = readings.map((one) => `fio ${one.version}`.trim());
  const seen = new Map<string, number>();
  const hosts = [...new Set(readings.map((one) => one.host).filter(Boolean))];
  const further: ((one: Reading, i: number) => string | number)[] = [
    (one) => (one.host ? `host ${hosts.indexOf(one.host) + 1}` : ""),
    (one) => one.file,
    (one) => one.job,
    (_, i) => {
      const key = `${names[i]} ${places[i]}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
      return seen.get(key) ?? 0;
    },
  ];
  for (const part of further) {
    const counts = new Map<string, number>();
    for (const [i, name] of names.entries())
      counts.set(`${name} ${places[i]}`, (counts.get(`${name} ${places[i]}`) ?? 0) + 1);
    const clash = new Set(names.filter((name, i) => (counts.get(`${name} ${places[i]}`) ?? 0) > 1));
    const told = readings.map(part);
    const splits = (name: string) => new Set(told.filter((_, i) => names[i] === name)).size > 1;
    const apart = new Set([...clash].filter(splits));
    names = names.map((name, i) => (apart.has(name) && told[i] !== "" ? `${name}, ${told[i]}` : name));
  }
  return names;
}

type Level = number | string | null;

/** The levels of what differs, numbers ascending, what is not told last. */
function levelsOf(values: readonly Level[]): Level[] {
  const told = [...new Set(values)].filter((value) => value !== null);
  if (told.every((value) => typeof value === "number")) told.sort((a, b) => Number(a) - Number(b));
  return values.includes(null) ? [...told, null] : told;
}

/** The readings as a report. template: an empty one, made by the same program as the page. */
export async function reportOf(template: ReportData, found: readonly Reading[], name: string): Promise<ReportData> {
  const names = namesOf(found);
  const optionOf = (option: string) => found.map((one): Level => one.load[option] ?? null);
  const varied = OPTIONS.filter((option) => new Set(optionOf(option)).size > 1);
  const columns: [string, Level[]][] = [
    ["target", names],
    ...varied.map((option): [string, Level[]] => [option, optionOf(option)]),
    ["direction", found.map((one) => one.direction)],
  ];
  const levels = columns.map(([, values]) => levelsOf(values));
  const at = found.map((_, i) => columns.map(([, values], a) => levels[a]?.indexOf(values[i] ?? null) ?? 0));
  const order = found
    .map((_, i) => i)
    .sort((i, j) => at[i]?.reduce((sum, v, a) => sum || v - (at[j]?.[a] ?? 0), 0) ?? 0);
  const rows = order.map((i) => found[i] as Reading);
  const target = order.map((i) => names[i] ?? "");
  const points = new Set(at.map((place) => place.slice(0, -1).join()));
  const derived = points.size === new Set(at.map((place) => place.join())).size;
  const axes = columns.map(([option], a): Axis => {
    const role = option === "target" || option === "direction" ? option : "option";
    const unit = option === "bs" || option === "size" ? "bytes" : option === "rwmixread" ? "percent" : "none";
    const numeric = levels[a]?.every((level) => typeof level === "number") ?? false;
    return {
      name: option,
      role,
      unit,
      numeric,
      derived: role === "direction" && derived,
      levels: levels[a] ?? [],
      label: "",
    };
  });
  const same = OPTIONS.filter((option) => !varied.includes(option) && found[0]?.load[option] !== undefined);
  const all = (text: string) => texts(rows.map(() => text));
  const curves = rows.flatMap((one, row) => (one.latency && one.latency.samples > 0 ? [{ ...one.latency, row }] : []));
  const { percents, fewest_beyond } = template.latency_curves;
  const ends = curves.flatMap((one) =>
    percents.map((p) => ((one.samples * Math.min(p, 100 - p)) / 100 < fewest_beyond ? Number.NaN : one.at(p))),
  );
  const versions = [...new Set(target)];
  const caches = (name: string) => new Set(rows.filter((_, i) => target[i] === name).map((one) => one.buffered));
  const cache = (name: string) => [...caches(name)].map((buffered) => (buffered ? "buffered" : "direct")).join(", ");
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
      headlines: ["read", "write"].flatMap((direction) => bestOf(rows, target, direction)),
      small: ["read", "write"].flatMap((direction) => smallOf(rows, target, direction)),
      next_step: "",
    },
    targets: versions.map((one) => ({ name: one, kind: "imported", placeholder: "/path/to/the/target", facts: [] })),
    axes,
    constants: same.map((option) => ({
      name: option,
      value: String(found[0]?.load[option]),
      unit: option === "bs" || option === "size" ? "bytes" : "none",
    })),
    cells: {
      ...template.cells,
      n_rows: rows.length,
      axes: await Promise.all(columns.map((_, a) => whole(order.map((i) => at[i]?.[a] ?? 0)))),
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
    imported_methods: versions.map((one) => ({
      target: one,
      facts: [{ name: "page cache", value: cache(one), unit: "none" }],
    })),
  };
}

function doubtsOf(found: readonly Reading[]): ReportData["summary"]["doubts"] {
  const doubted = found.flatMap((one, row) => (one.doubted ? [row] : []));
  const why = "One run of fio each, without logs: steady state, warm-up and caches could not be checked.";
  const advice = "measure the same loads with `ioatlas map`, then `compare`";
  const left = "Left out of the best: figures that contradict each other, or a run that failed.";
  const all = [{ code: "imported", level: "fair" as const, sentence: why, advice, rows: [] as number[] }];
  if (doubted.length > 0) all.push({ code: "imported", level: "fair", sentence: left, advice: "", rows: doubted });
  return all;
}

/** Rows of one direction that may stand for all: the largest file of each set and operation, which caches hold least of. */
function rivals(rows: readonly Reading[], target: readonly string[], direction: string): number[] {
  const of = (row: number) => Number(rows[row]?.load.size ?? 0);
  const kind = (row: number) => `${target[row]} ${rows[row]?.load.rw}`;
  const sound = rows.flatMap((one, row) => (one.direction === direction && !one.doubted ? [row] : []));
  return sound.filter(
    (row) => of(row) === 0 || sound.every((other) => kind(other) !== kind(row) || of(other) <= of(row)),
  );
}

function bestOf(rows: readonly Reading[], target: readonly string[], direction: string): HeadlineData[] {
  const buffered = (row: number) => Number(rows[row]?.buffered);
  const bw = (row: number) => rows[row]?.bw || 0;
  const [best] = rivals(rows, target, direction).sort((a, b) => buffered(a) - buffered(b) || bw(b) - bw(a));
  const one = rows[best ?? -1];
  if (best === undefined || !one || !one.bw) return [];
  const { rw = "", bs, numjobs, iodepth } = one.load;
  const told = [
    rw,
    bs ? size(Number(bs), "iec") : "",
    numjobs ? `numjobs ${numjobs}` : "",
    iodepth ? `iodepth ${iodepth}` : "",
  ];
  const faster = rows.filter((other) => other.direction === direction && other.bw > one.bw).length;
  const tie = faster > 0 ? `${faster} faster not ranked: smaller file, cache or contradiction` : "";
  return [
    {
      ...{ row: best, ties: [], uncertainty: null, moved: null, low: null, high: null, first: null, n_visits: 0 },
      ...{ lower_bound: false, estimated: false, limit: "", limit_probability: null, unit: "", grade: null },
      ...{ label: `Best ${direction}`, target: target[best] ?? "", direction, quantity: "bw_bytes_per_s" },
      ...{ value: one.bw, where: told.filter(Boolean).join(", "), tie },
    },
  ];
}

/** 4 KiB random I/O of the set that does most of it: at the fewest I/Os in flight, and where it does most. */
function smallOf(rows: readonly Reading[], target: readonly string[], direction: string): SmallIoData[] {
  const small = rivals(rows, target, direction).filter(
    (row) => rows[row]?.load.bs === SMALL && rows[row]?.load.rw === `rand${direction}` && rows[row]?.iops,
  );
  const flying = ({ load }: Reading) =>
    "numjobs" in load || "iodepth" in load ? Number(load.numjobs ?? 1) * Number(load.iodepth ?? 1) : 0;
  const loads = small.map((row) => {
    const one = rows[row] as Reading;
    const known = (value: number) => (Number.isNaN(value) ? null : value);
    return {
      ...{ row, in_flight: flying(one), iops: one.iops, estimated: false, grade: null },
      ...{ lat_mean_ns: known(one.mean), lat_p99_ns: known(one.p99) },
    };
  });
  const best = loads.toSorted((a, b) => b.iops - a.iops)[0];
  if (!best) return [];
  const set = target[best.row] ?? "";
  const lightest = loads.filter((one) => target[one.row] === set).sort((a, b) => a.in_flight - b.in_flight)[0] ?? best;
  const rw = `rand${direction}`;
  return [{ lightest, best, label: `4 KiB random ${direction}`, target: set, direction, rw, bs_bytes: SMALL }];
}
