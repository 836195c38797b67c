// SPDX-License-Identifier: Apache-2.0
// Everything there is to say about one cell, in words: tooltip, details and screen readers all speak from here.
import { type Atlas, cellNumber, type Mark, markOf, type Point, type Slot } from "./atlas";
import { type QuantityId, quantitiesOf, reader } from "./quantities";
import { counted, duration, percent, rate, type UnitSystem } from "./units";

export interface FactLine {
  id: QuantityId;
  label: string;
  short: string;
  value: string;
  /** "1.02 to 1.09 GiB/s"; empty when the source gave no interval. */
  interval: string;
}

/** A name and its value; an empty value is not known. */
export type Named = readonly [name: string, value: string];

export interface Facts {
  mark: Mark;
  /** Why there is no estimate; empty when there is one. */
  reason: string;
  lines: FactLine[];
  kind: string;
  verdict: string;
  method: string;
  /** What else is known of the cell, why it is limited, and how it was measured. */
  told: readonly Named[];
  because: readonly Named[];
  how: readonly Named[];
}

/** "1.02 to 1.09 GiB/s": the unit once when both bounds share it. */
export function intervalText(low: number, high: number, format: (v: number) => string): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "";
  const [a, b] = [format(low), format(high)];
  const unit = (text: string) => text.slice(text.indexOf(" ") + 1);
  const shared = a.includes(" ") && b.includes(" ") && unit(a) === unit(b);
  return `${shared ? a.slice(0, a.indexOf(" ")) : a} to ${b}`;
}

const LATENCY_WORDS: Record<string, string> = {
  completion: "completion only",
  intended: "from the time each I/O was due",
};

const KINDS: Record<string, string> = { predicted: "estimated" };

const NO_FACTS = { lines: [], kind: "", verdict: "", method: "", told: [], because: [], how: [] };

export function factsAt(atlas: Atlas, slot: Slot, system: UnitSystem): Facts {
  const mark = markOf(atlas, slot);
  if (slot <= 0) {
    const reason = slot < 0 ? atlas.reason(-slot - 1) : "not a cell of this sweep";
    return { ...NO_FACTS, mark, reason };
  }
  const row = slot - 1;
  const lines: FactLine[] = [];
  for (const quantity of quantitiesOf(atlas)) {
    const [value = Number.NaN, low = value, high = value] = reader(atlas, quantity).map((read) => read(row));
    if (!Number.isFinite(value)) continue;
    const format = (v: number) => quantity.format(v, system);
    lines.push({
      id: quantity.id,
      label: quantity.label,
      short: quantity.short ?? quantity.label,
      value: format(value),
      interval: intervalText(low, high, format),
    });
  }
  const { texts, values, nDiscarded } = atlas;
  const kind = texts.kind(row);
  const visits = kind === "measured" ? counted(atlas.nVisits[row] ?? 0, "visit") : `no visit: ${KINDS[kind] ?? kind}`;
  const [window, cut] = [values.at("window_seconds", row), values.at("cut_seconds", row)];
  return {
    mark,
    reason: "",
    lines,
    kind,
    verdict: texts.verdict(row),
    method: texts.method(row),
    told: [
      ["Visits", visits],
      ["Trust", texts.grade(row)],
      ["Ceiling", ceilingText(atlas, row, system)],
      ["Limited by", limitWords(texts.limit(row), values.at("limit_probability", row))],
      ["Power", powerText(atlas, row, system)],
    ],
    because: [["Because", texts.limit_why(row)]],
    how: [
      ["Method", texts.method(row) || "not given"],
      ["Window", Number.isFinite(window) ? duration(window) : ""],
      ["Cut as warm-up", Number.isFinite(cut) ? (cut ? duration(cut) : "nothing") : ""],
      ["Discarded", counted(nDiscarded[row] ?? 0, "visit")],
      ["Latency", LATENCY_WORDS[texts.lat_kind(row)] ?? texts.lat_kind(row)],
      ["Loop", texts.loop(row)],
      ["Seeds", texts.seeds(row)],
      ["Note", texts.note(row)],
    ],
  };
}

export function limitWords(limit: string, probability: number | null): string {
  return limit && probability !== null && probability > 0 ? `${limit} (${percent(probability)})` : limit;
}

/** "96% of the 1 Gb/s link, MTU 1500 (112 MiB/s)": throughput beside the tightest bound of the path. */
function ceilingText(atlas: Atlas, row: number, system: UnitSystem): string {
  const bound = atlas.values.at("ceiling_bytes_per_s", row);
  const value = atlas.values.at("bw_bytes_per_s", row);
  if (!(bound > 0) || !Number.isFinite(value)) return "";
  return `${percent(value / bound)} of the ${atlas.texts.ceiling(row)} (${rate(bound, system)})`;
}

function powerText(atlas: Atlas, row: number, system: UnitSystem): string {
  const watts = atlas.values.at("watts", row);
  if (!(watts > 0)) return "";
  const [bw, iops] = [atlas.values.at("bw_bytes_per_s", row), atlas.values.at("iops", row)];
  const parts = [`${watts.toPrecision(3)} W`];
  if (Number.isFinite(iops)) parts.push(`${(iops / watts).toPrecision(3)} IOPS/W`);
  if (Number.isFinite(bw)) parts.push(`${rate(bw / watts, system)}/W`);
  return parts.join(", ");
}

/** One sentence for a screen reader. */
export function spoken(facts: Facts, where: string): string {
  if (facts.reason) return `${where}: ${facts.reason}`;
  const numbers = facts.lines.map((line) => `${line.label} ${line.value}${line.interval ? ` (${line.interval})` : ""}`);
  const told = facts.told.flatMap(([name, value]) => (value ? [`${name} ${value}`] : []));
  const method = `${facts.kind} by ${facts.method || "an unnamed method"}`;
  return `${where}: ${[...numbers, ...told, facts.verdict || "no verdict", method].join("; ")}`;
}

/** Other rows of the same cell: a prediction made before it was measured, a reading brought in. */
export function othersAt(atlas: Atlas, point: Point | null): number[] {
  return point ? (atlas.others.get(cellNumber(atlas, point)) ?? []) : [];
}
