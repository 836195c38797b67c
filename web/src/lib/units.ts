// SPDX-License-Identifier: Apache-2.0
// Numbers for people: at most three significant digits, in the units of `ioatlas.model.units` and as that writes them, so
// that the page says what the terminal says; IEC units (KiB) unless SI (kB) is asked for.
import { Units } from "./report-data.gen";

export type UnitSystem = "iec" | "si";

const BYTES = { iec: Object.entries(Units.binary), si: Object.entries(Units.decimal) };

/** Three significant digits at most, without exponent and without zeros at the end. */
export function significant(value: number, digits = 3): string {
  const text = rounded(value, digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function rounded(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  return value.toFixed(Math.min(9, Math.max(0, digits - 1 - magnitude)));
}

/** A number of bytes in the first unit of which it has fewer than `full`. */
function scaled(value: number, system: UnitSystem, full: number): [scaled: number, unit: string] {
  const fits = BYTES[system].find(([, factor]) => Math.abs(value) / factor < full);
  const [unit, factor] = fits ?? BYTES[system].at(-1) ?? ["B", 1];
  return [value / factor, unit];
}

export function bytes(value: number, system: UnitSystem): string {
  if (!Number.isFinite(value)) return "–";
  const [number, unit] = scaled(value, system, 999.5);
  return `${significant(number)} ${unit}`;
}

/** A size someone chose: exact when it is a whole number of a unit (4096: 4 KiB, or 4.10 kB in SI), else three digits. */
export function size(value: number, system: UnitSystem): string {
  const [number, unit] = scaled(value, system, system === "iec" ? 1024 : 1000);
  if (Number.isInteger(number)) return `${number} ${unit}`;
  return number < 1000 ? `${rounded(number)} ${unit}` : `${value} B`;
}

export function rate(value: number, system: UnitSystem): string {
  const text = bytes(value, system);
  return text === "–" ? text : `${text}/s`;
}

/** The largest unit of throughput that the largest of several values reaches, and its bytes a second. */
export function rateUnit(most: number, system: UnitSystem): { name: string; factor: number } {
  const [unit, factor] = BYTES[system].findLast(([, factor]) => factor <= most * (1 + 1e-9)) ?? ["B", 1];
  return { name: `${unit}/s`, factor };
}

/** In the largest of the units that it reaches when rounded, else in nanoseconds. */
function inLargest(value: number, units: Record<string, number>): string {
  if (!Number.isFinite(value)) return "–";
  const [unit, factor] = Object.entries(units).findLast(([, size]) => Math.abs(value) >= size * 0.9995) ?? ["ns", 1];
  return `${significant(value / factor)} ${unit}`;
}

export function count(value: number): string {
  return Math.abs(value) < 9995 ? significant(value) : inLargest(value, Units.count);
}

export function latency(ns: number): string {
  return inLargest(ns, Units.latency);
}

/** "31%", "7.6%": two digits, as `ioatlas.answer.analysis.wording` has it. */
export function percent(fraction: number): string {
  if (!Number.isFinite(fraction)) return "–";
  return `${fraction >= 0.1 ? Math.round(fraction * 100) : significant(fraction * 100, 2)}%`;
}

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const s = Math.round(seconds);
  if (s < 60) return `${significant(seconds, 2)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
  return `${Math.floor(s / 3600)} h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")} min`;
}

/** A whole number with thin spaces between groups of three. */
export function whole(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** "4,288", "12.3": money and figures of other tools. Not by `Intl`, whose first use takes a page 60 ms. */
export function grouped(value: number, digits = 3): string {
  return Math.abs(value) < 1000 ? significant(value, digits) : whole(value).replaceAll("\u202f", ",");
}

/** "1 visit", "1 920 cells". */
export function counted(n: number, noun: string): string {
  return `${whole(n)} ${noun}${n === 1 ? "" : "s"}`;
}
