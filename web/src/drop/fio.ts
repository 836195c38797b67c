// SPDX-License-Identifier: Apache-2.0
// fio's JSON (json and json+, fio 2.0.14 to 3.4x) as readings: the figures that `ioatlas import` reads (src/ioatlas/load/fio).
import { groups } from "../lib/groups";

type Json = Record<string, unknown>;

/** Latencies of one kind in nanoseconds; NaN is unknown. */
interface Latency {
  mean: number;
  samples: number;
  at(percent: number): number;
}

/** One direction of one job. NaN and "" are what the file does not say. */
export interface Reading {
  file: string;
  version: string;
  job: string;
  host: string;
  direction: string;
  load: Readonly<Record<string, string | number>>;
  iops: number;
  bw: number;
  mean: number;
  p99: number;
  latKind: string;
  latency: Latency | null;
  buffered: boolean;
  notes: string[];
  /** Alike of the processes of one job that each tell their own figures: `numjobs` without `group_reporting`. */
  share: string;
  /** The figures cannot all be right, or the run failed: they rank nowhere. */
  doubted: boolean;
}

const FAILED = "fio measured nothing: every job failed. Its own messages say why.";
const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : []);

/** A finite number from zero up, else NaN. */
function number(value: unknown): number {
  const found = typeof value === "string" && value.trim() ? Number(value) : typeof value === "number" ? value : NaN;
  return found >= 0 && found < Number.POSITIVE_INFINITY ? found : NaN;
}

/** Every reading of a file. Throws an error whose message says what is wrong with it. */
export function readFio(file: string, text: string): Reading[] {
  const outputs = withoutInterim(documents(text).flatMap((value) => fioOutputs(value)));
  if (outputs.length === 0)
    throw new Error("no output of fio. Write it with `fio --output-format=json --output=FILE`.");
  const found = outputs.flatMap((output) => wholeJobs(ofOutput(file, output)));
  if (found.length === 0) throw new Error(FAILED);
  return found;
}

/** JSON values in a text: all of it, or what begins and ends with a brace at the begin of a line. */
function documents(text: string): unknown[] {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  const whole = parsed(trimmed);
  if (whole !== undefined) return [whole];
  const parts = trimmed.match(/^\{.*?^\}/gms) ?? [];
  if ((trimmed.match(/^\{/gm) ?? []).length > parts.length)
    throw new Error("cut off before its end: fio was stopped, or the copy is not complete.");
  return parts.map(parsed).filter((value) => value !== undefined);
}

/** Old versions print nan and inf, which JSON has no word for. */
function parsed(text: string): unknown {
  for (const one of [text, text.replace(/:\s*-?(?:nan|inf(?:inity)?)\b/gi, ": null")]) {
    try {
      return JSON.parse(one);
    } catch {}
  }
  return undefined;
}

/** fio's documents, in another tool's JSON too. */
function fioOutputs(value: unknown, depth = 6): Json[] {
  const own = object(value);
  if (Array.isArray(own.jobs) || Array.isArray(own.client_stats)) return [own];
  const inner = Array.isArray(value) ? value : Object.values(own);
  return depth > 0 ? inner.flatMap((one) => fioOutputs(one, depth - 1)) : [];
}

/** With a status interval fio writes a whole document again and again: the last one of a run holds all. */
function withoutInterim(outputs: Json[]): Json[] {
  const run = (output: Json) =>
    JSON.stringify([output["fio version"], output["global options"], jobsOf(output).map(startOf)]);
  const startOf = (job: Json) => [job.jobname, job["job options"], job.job_start ?? null];
  const told = (output: Json) => jobsOf(output).every((job) => job.job_start !== undefined);
  return outputs.filter((output, i) => {
    const next = outputs[i + 1];
    return !(next && told(output) && run(output) === run(next));
  });
}

function jobsOf(output: Json): Json[] {
  const clients = list(output.client_stats).filter((job) => job.jobname !== "All clients");
  return [...list(output.jobs), ...clients].filter((job) => "jobname" in job || "read" in job);
}

function options(value: unknown): Record<string, string> {
  const all = Array.isArray(value) ? value : [value];
  return Object.fromEntries(all.flatMap((one) => Object.entries(object(one)).map(([k, v]) => [k, String(v)])));
}

function ofOutput(file: string, output: Json): Reading[] {
  const version = String(output["fio version"] ?? "");
  const [, major = "0", minor = "0"] = version.match(/fio-(\d+)\.(\d+)/) ?? [];
  const inKib = Number(major) < 2 || (major === "2" && Number(minor) < 21);
  const jobs = jobsOf(output);
  const key = (job: Json) => JSON.stringify([job.jobname, job.groupid, job.hostname]);
  return jobs.flatMap((job) => {
    const clones = jobs.filter((other) => key(other) === key(job)).length;
    const told = { ...options(output["global options"]), ...options(job["job options"]) };
    const names = ["read", "write", "trim", "mixed"].filter((name) => measured(object(job[name])));
    const apart = names.length > 1 ? names.filter((name) => name !== "mixed") : names;
    const errors = number(job.total_err) || number(job.error) || 0;
    return apart.map((direction) => {
      const part = object(job[direction]);
      const idle = part.total_ios === 0 && !number(part.io_bytes);
      const [lat, clat] = idle ? [null, null] : [latencyOf(part, "lat"), latencyOf(part, "clat")];
      const reading: Reading = {
        file,
        version: version.replace(/^fio-/, ""),
        job: String(job.jobname ?? ""),
        host: String(job.hostname ?? ""),
        direction,
        load: loadOf(told, direction),
        iops: number(part.iops),
        bw: rateOf(part, inKib),
        ...latencies(lat, clat),
        buffered: /^(|0|false|no)$/.test(told.direct ?? ""),
        share: clones > 1 && clones === number(told.numjobs) ? key(job) + direction : "",
        notes:
          clones > 1 && clones !== number(told.numjobs)
            ? [`one of ${clones} entries of this job: the figures are this entry's share`]
            : [],
        doubted: false,
      };
      const doubts = doubtsOf(reading, errors, clones > 1);
      return { ...reading, notes: [file, ...reading.notes, ...doubts], doubted: doubts.length > 0 };
    });
  });
}

/** Processes of one job ran at once: rates are sums, a mean is that of all I/Os, and p99 the highest. */
function wholeJobs(readings: Reading[]): Reading[] {
  const shares = [...groups(readings, (one) => one.share || one).values()];
  return shares.map((parts) => {
    const first = parts[0] as Reading;
    if (parts.length === 1) return first;
    const sum = (of: (one: Reading) => number) => parts.reduce((all, one) => all + of(one), 0);
    const iops = sum((one) => one.iops);
    const mean = sum((one) => one.iops * one.mean) / iops;
    const p99 = Math.max(...parts.map((one) => one.p99));
    const notes = [
      ...new Set(parts.flatMap((one) => one.notes)),
      `${parts.length} processes together, the highest p99`,
    ];
    const doubted = parts.some((one) => one.doubted);
    return { ...first, iops, bw: sum((one) => one.bw), mean, p99, latency: null, notes, doubted };
  });
}

const measured = (part: Json): boolean =>
  [part.io_bytes, part.io_kbytes, part.total_ios, part.iops, part.bw_bytes, part.bw].some((value) => number(value) > 0);

/** Bytes per second. Before fio 3.2 it has whole KiB/s; bytes over the time are more exact. */
function rateOf(part: Json, inKib: boolean): number {
  if (!Number.isNaN(number(part.bw_bytes))) return number(part.bw_bytes);
  const told = number(part.bw) * 1024;
  const old = inKib && part.io_kbytes === undefined ? 1024 : 1;
  const bytes = Number.isNaN(number(part.io_bytes)) ? number(part.io_kbytes) * 1024 : number(part.io_bytes) * old;
  const exact = (bytes * 1000) / number(part.runtime);
  return number(part.runtime) >= 1000 && bytes > 0 && Math.abs(exact - told) <= 2048 ? exact : told;
}

function latencyOf(part: Json, name: string): Latency | null {
  const units = [["_ns", 1], ["_us", 1e3], ["", 1e3], ["_ms", 1e6]] as const; // biome-ignore format: a table
  const [unit, factor] = units.find(([ending]) => part[name + ending] !== undefined) ?? units[0];
  const stats = object(part[name + unit]);
  const samples = number(stats.N);
  if (samples === 0 || (Number.isNaN(samples) && !number(stats.mean) && !number(stats.max))) return null;
  const listed = Object.entries(object(stats.percentile)).map(([at, ns]) => [number(at), number(ns) * factor] as const);
  const bins = binsOf(object(stats.bins), factor);
  const at = (percent: number) =>
    listed.find(([one, ns]) => Math.abs(one - percent) < 1e-6 && !Number.isNaN(ns))?.[1] ?? ranked(bins, percent);
  return { mean: number(stats.mean) * factor, samples, at };
}

/** [latency, I/Os] of json+, ascending. Up to fio 2.x bins are numbered: `plat_idx_to_val` of its stat.c. */
function binsOf(bins: Json, factor: number): [number, number][] {
  const bits = number(bins.FIO_IO_U_PLAT_BITS) || 6;
  const middle = (index: number) => {
    if (!("FIO_IO_U_PLAT_BITS" in bins) || index < 2 << bits) return index;
    const step = 2 ** (Math.floor(index / 2 ** bits) - 1);
    return step * 2 ** bits + Math.floor(((index % 2 ** bits) + 0.5) * step);
  };
  const found = Object.entries(bins).filter(([place, n]) => /^\d+$/.test(place) && number(n) > 0);
  return found
    .map(([place, n]): [number, number] => [middle(Number(place)) * factor, Number(n)])
    .sort((a, b) => a[0] - b[0]);
}

/** The percentile by nearest rank. */
function ranked(bins: readonly [number, number][], percent: number): number {
  let left = Math.max(1, (bins.reduce((sum, [, n]) => sum + n, 0) * percent) / 100);
  for (const [ns, n] of bins) {
    left -= n;
    if (left <= 0) return ns;
  }
  return bins.at(-1)?.[0] ?? Number.NaN;
}

/** Mean and p99 of one kind: of total latency where fio has its percentiles, else of completion latency. */
function latencies(lat: Latency | null, clat: Latency | null): Pick<Reading, "mean" | "p99" | "latKind" | "latency"> {
  const total = lat && !Number.isNaN(lat.at(99));
  const latency = total || !clat || Number.isNaN(clat.at(99)) || Number.isNaN(clat.mean) ? (lat ?? clat) : clat;
  const latKind = latency === null ? "unknown" : latency === lat ? "total" : "completion";
  return { mean: latency?.mean ?? NaN, p99: latency?.at(99) ?? NaN, latKind, latency };
}

const WORDS: Record<string, string> = { readwrite: "rw", r: "read", w: "write" };

function loadOf(told: Readonly<Record<string, string>>, direction: string): Record<string, string | number> {
  const base = told.kb_base?.trim() === "1000" ? 1000 : 1024;
  const word = (told.rw ?? told.readwrite ?? "").split(":")[0]?.trim() ?? "";
  const mixed = ["rw", "readwrite", "randrw"].includes(word);
  const writes = told.rwmixwrite === undefined ? NaN : 100 - number(told.rwmixwrite);
  const split = told.bssplit ?? told.bsrange ?? told.blocksize_range;
  const parts = (told.bs ?? told.blocksize ?? "").split(",");
  const place = ["read", "write", "trim"].indexOf(direction);
  const own =
    place < 0 ? (new Set(parts).size === 1 ? parts[0] : "") : parts.slice(0, place + 1).findLast((p) => p.trim());
  const all = {
    rw: WORDS[word] ?? word,
    bs: split === undefined ? sizeOf(own, base) : NaN,
    size: sizeOf(told.size, base),
    numjobs: number(told.numjobs),
    iodepth: number(told.iodepth),
    rwmixread: mixed ? (told.rwmixread === undefined ? writes : number(told.rwmixread)) : NaN,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "" && !Number.isNaN(value)));
}

/** Bytes as fio reads them: 4k, 4ki and 4kb are 4096, 4KiB is 4000; with kb_base=1000 the reverse. */
function sizeOf(text: string | undefined, base: number): number {
  const [, digits, letter = "", unit = ""] = (text ?? "").match(/^\s*(\d+)\s*([kmgtp]?)(ib|i|b)?\s*$/i) ?? [];
  const of = unit.toLowerCase() === "ib" ? 2024 - base : base;
  return digits ? Number(digits) * of ** " kmgtp".indexOf(letter.toLowerCase() || " ") : NaN;
}

/** What cannot be: arithmetic that every measurement obeys, to one part in ten. */
function doubtsOf(reading: Reading, errors: number, share: boolean): string[] {
  const { iops, bw, mean, load } = reading;
  const block = Number(load.bs);
  const most = Number(load.numjobs) * Number(load.iodepth);
  const flying = (iops * mean) / 1e9;
  const rounded = Number.isInteger(iops) && (iops - 1) * block <= bw && bw <= (iops + 1) * block;
  const unlike = iops >= 1 && !rounded && Math.abs(iops * block - bw) > 0.1 * Math.max(iops * block, bw);
  return [
    errors > 0 ? `fio reported error ${errors}: the run failed, at least in part` : "",
    unlike ? "contradiction: I/Os per second times the block size are not the bandwidth" : "",
    !share && flying > most * 1.1
      ? `contradiction (Little's law): ${flying.toPrecision(2)} I/Os in flight of ${most}`
      : "",
  ].filter(Boolean);
}
