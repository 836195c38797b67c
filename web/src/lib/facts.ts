// SPDX-License-Identifier: Apache-2.0
// Everything there is to say about one cell, in words: tooltip, details and screen readers all speak from here.
import { type Atlas, cellNumber, type Mark, markOf, type Point, type Slot, textAt } from "./atlas";
import { type QuantityId, quantitiesOf, readingAt } from "./quantities";
import { percent, rate, type UnitSystem } from "./units";

export interface FactLine {
  id: QuantityId;
  label: string;
  short: string;
  value: string;
  /** "1.02 to 1.09 GiB/s"; empty when the source gave no interval. */
  interval: string;
}

export interface Facts {
  mark: Mark;
  lines: FactLine[];
  kind: string;
  verdict: string;
  method: string;
  nVisits: number;
  nDiscarded: number;
  latKind: string;
  /** "closed" or "open"; empty for what was imported. */
  loop: string;
  /** Seeds of the visits; empty in pages of many rows. */
  seeds: string;
  windowSeconds: number;
  cutSeconds: number;
  note: string;
  /** What limits the cell with its odds, 'undetermined', or empty; and the margin to the next resource, with the evidence. */
  limit: string;
  limitWhy: string;
  /** "96 % of the 1 Gb/s link, MTU 1500 (112 MiB/s)"; empty without a ceiling. */
  ceiling: string;
  /** How far the value is to be believed, and why no further; empty where that was not worked out. */
  grade: string;
  /** "41.2 W, 1.2 kIOPS/W, 3.4 MiB/s/W"; empty where nothing measured it. */
  power: string;
  /** Why there is no estimate; empty when there is one. */
  reason: string;
}

/** "1.02 to 1.09 GiB/s": the unit once when both bounds share it. */
export function intervalText(low: number, high: number, format: (v: number) => string): string {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return "";
  const [a, b] = [format(low), format(high)];
  const unit = (text: string) => text.slice(text.indexOf(" ") + 1);
  const shared = a.includes(" ") && b.includes(" ") && unit(a) === unit(b);
  return `${shared ? a.slice(0, a.indexOf(" ")) : a} to ${b}`;
}

const NO_FACTS: Omit<Facts, "mark" | "reason"> = {
  lines: [],
  kind: "",
  verdict: "",
  method: "",
  nVisits: 0,
  nDiscarded: 0,
  latKind: "",
  loop: "",
  seeds: "",
  windowSeconds: Number.NaN,
  cutSeconds: Number.NaN,
  note: "",
  limit: "",
  limitWhy: "",
  ceiling: "",
  grade: "",
  power: "",
};

export function factsAt(atlas: Atlas, slot: Slot, system: UnitSystem): Facts {
  const mark = markOf(atlas, slot);
  if (slot <= 0) {
    return { ...NO_FACTS, mark, reason: slot < 0 ? textAt(atlas.reason, -slot - 1) : "not a cell of this sweep" };
  }
  const row = slot - 1;
  const lines: FactLine[] = [];
  for (const quantity of quantitiesOf(atlas)) {
    const [value, low, high] = readingAt(atlas, quantity, row);
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
  return {
    mark,
    lines,
    kind: textAt(atlas.kind, row),
    verdict: textAt(atlas.verdict, row),
    method: textAt(atlas.method, row),
    nVisits: atlas.nVisits[row] ?? 0,
    nDiscarded: atlas.nDiscarded[row] ?? 0,
    latKind: textAt(atlas.latKind, row),
    loop: textAt(atlas.loop, row),
    seeds: textAt(atlas.seeds, row),
    windowSeconds: atlas.values.at("window_seconds", row),
    cutSeconds: atlas.values.at("cut_seconds", row),
    note: textAt(atlas.note, row),
    limit: limitText(atlas, row),
    limitWhy: textAt(atlas.limitWhy, row),
    ceiling: ceilingText(atlas, row, system),
    grade: textAt(atlas.grade, row),
    power: powerText(atlas, row, system),
    reason: "",
  };
}

/** "link (93%)": what limits a cell and how probable that is, "undetermined", or empty. */
export function limitText(atlas: Atlas, row: number): string {
  return limitWords(textAt(atlas.limit, row), atlas.values.at("limit_probability", row));
}

export function limitWords(limit: string, probability: number | null): string {
  return limit && probability !== null && probability > 0 ? `${limit} (${percent(probability)})` : limit;
}

/** Throughput beside the tightest bound of the path. */
export function ceilingText(atlas: Atlas, row: number, system: UnitSystem): string {
  const bound = atlas.values.at("ceiling_bytes_per_s", row);
  const value = atlas.values.at("bw_bytes_per_s", row);
  if (!(bound > 0) || !Number.isFinite(value)) return "";
  return `${percent(value / bound)} of the ${textAt(atlas.ceiling, row)} (${rate(bound, system)})`;
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

export function visitsText(facts: Facts): string {
  if (facts.kind === "predicted") return "no visit: estimated";
  if (facts.kind === "imported") return "no visit: imported";
  return `${facts.nVisits} visit${facts.nVisits === 1 ? "" : "s"}`;
}

/** One sentence for a screen reader. */
export function spoken(facts: Facts, where: string): string {
  if (facts.reason) return `${where}: ${facts.reason}`;
  const numbers = facts.lines.map((line) => `${line.label} ${line.value}${line.interval ? ` (${line.interval})` : ""}`);
  return `${where}: ${numbers.join("; ")}; ${visitsText(facts)}; ${facts.verdict || "no verdict"};${facts.limit ? ` limited by: ${facts.limit};` : ""}${facts.ceiling ? ` ${facts.ceiling};` : ""} ${facts.kind} by ${facts.method || "an unnamed method"}`;
}

/** Other rows of the same cell: a prediction made before it was measured, a reading brought in. */
export function othersAt(atlas: Atlas, point: Point | null): number[] {
  return point ? (atlas.others.get(cellNumber(atlas, point)) ?? []) : [];
}
