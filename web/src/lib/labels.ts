// SPDX-License-Identifier: Apache-2.0
// Axis names and levels in words.
import { type Atlas, levelAt, optionAt, type Slot } from "./atlas";
import type { Named } from "./facts";
import type { Axis, Constant } from "./report-data.gen";
import { rate, significant, size, type UnitSystem } from "./units";

const NAMES: Record<string, string> = {
  bs: "Block size",
  size: "File size",
  numjobs: "Jobs",
  iodepth: "Queue depth",
  rw: "Operation",
  operation: "Operation",
  direction: "Direction",
  target: "Target",
  rwmixread: "Share of reads",
  sharing: "File sharing",
  state: "File state",
  ioengine: "Engine",
};

/** What an axis is called, with fio's own option name where that differs. */
export function axisLabel(axis: Pick<Axis, "name" | "label">): string {
  return axis.label || (NAMES[axis.name] ?? axis.name);
}

export function axisTitle(axis: Axis): string {
  const label = axisLabel(axis);
  return axis.role === "option" && label !== axis.name && axis.name !== "operation" ? `${label} (${axis.name})` : label;
}

/** A level for people. */
export function levelText(
  axis: Pick<Axis, "name" | "unit">,
  level: Axis["levels"][number] | undefined,
  system: UnitSystem,
): string {
  if (level === null || level === undefined) return "not set";
  if (typeof level === "string" && axis.name === "bs" && /^[\d,]+$/.test(level)) {
    const sizes = level.split(",").map((part) => (part ? size(Number(part), system) : "–"));
    return sizes.join(", ");
  }
  if (typeof level === "string") return level;
  if (axis.unit === "bytes") return size(level, system);
  if (axis.unit === "bytes/s") return rate(level, system);
  if (axis.unit === "percent") return `${level}%`;
  return Number.isInteger(level) ? String(level) : significant(level, 4);
}

/** Several levels: all of them, or from where to where when there are more than `most` numbers. */
export function levelsText(axis: Axis, levels: Axis["levels"], system: UnitSystem, most = 24): string {
  const texts = levels.map((level) => levelText(axis, level, system));
  if (!axis.numeric || texts.length <= most) return texts.join(", ");
  return `${texts[0]} to ${texts[texts.length - 1]}, ${texts.length} values`;
}

/** A constant option for people. */
export function constantText({ name, unit, value }: Constant, system: UnitSystem): string {
  return levelText({ name, unit }, value !== "" && Number.isFinite(Number(value)) ? Number(value) : value, system);
}

/** The same in as few letters as can be told apart under a small tile: 4K, 1M (binary, as fio users write), else the usual text. */
export function shortLevel(axis: Axis, level: Axis["levels"][number] | undefined, system: UnitSystem): string {
  const text = levelText(axis, level, system);
  return axis.unit === "bytes" && system === "iec" ? text.replace(/ (.)iB$/, "$1").replace(/ B$/, "") : text;
}

/** The cell in words, by the axes that distinguish it. */
export function cellLabel(atlas: Atlas, slot: Slot, system: UnitSystem): Named[] {
  const parts: Named[] = [];
  for (const axis of atlas.axes) {
    if (axis.levels.length < 2 && !(axis.name === "direction" && optionAt(atlas, slot, "rw") === undefined)) continue;
    const level = levelAt(atlas, slot, axis.name);
    if (level === undefined || level === null) continue;
    // A direction that follows from the operation says nothing new; nor does fio's word for what another tool called its own way.
    if ((axis.name === "direction" || axis.name === "rw") && axis.derived) continue;
    parts.push([axisLabel(axis), levelText(axis, level, system)]);
  }
  return parts;
}
