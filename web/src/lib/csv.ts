// SPDX-License-Identifier: Apache-2.0
// Rows as CSV, with the field names every ioatlas export uses.
import { type Atlas, levelAt, optionAt } from "./atlas";

const FIELDS =
  "target rw bs_bytes size_bytes numjobs iodepth direction kind n_visits bw_bytes_per_s bw_low bw_high iops " +
  "lat_mean_ns lat_p99_ns lat_kind verdict method";

export const OPTION_OF: Record<string, string> = {
  rw: "rw",
  bs_bytes: "bs",
  size_bytes: "size",
  numjobs: "numjobs",
  iodepth: "iodepth",
};
const FALLBACK: Record<string, string | number> = { rw: "read", bs_bytes: 4096, numjobs: 1, iodepth: 1 };

/** Fields of a table: the fixed ones, then any other axis under its own name. */
export function fieldsOf(atlas: Atlas): string[] {
  const covered = new Set(["target", "direction", ...Object.values(OPTION_OF)]);
  return [...FIELDS.split(" "), ...atlas.axes.filter((axis) => !covered.has(axis.name)).map((axis) => axis.name)];
}

/** A field of a row; numbers in base units, null where unknown. */
export function fieldAt(atlas: Atlas, row: number, field: string): string | number | null {
  const slot = row + 1;
  const option = OPTION_OF[field];
  if (option) {
    const value = optionAt(atlas, slot, option) ?? FALLBACK[field] ?? null;
    // fio takes `read,write,trim` block sizes; the row carries the largest, as every export does.
    if (field === "bs_bytes") return Math.max(...String(value).split(",").map(Number));
    return typeof value === "string" && field !== "rw" && value !== "" && Number.isFinite(Number(value))
      ? Number(value)
      : value;
  }
  if (field === "kind" || field === "verdict" || field === "method" || field === "lat_kind") {
    return atlas.texts[field](row);
  }
  if (field === "n_visits") return atlas.nVisits[row] ?? 0;
  if (atlas.values.has(field)) {
    const value = atlas.values.at(field, row);
    return Number.isFinite(value) ? value : null;
  }
  return levelAt(atlas, slot, field) ?? null;
}

/** Whether a field is a text: its first known value tells. */
export function isText(atlas: Atlas, field: string): boolean {
  const row = atlas.marks.findIndex((_, row) => fieldAt(atlas, row, field) !== null);
  return row >= 0 && typeof fieldAt(atlas, row, field) === "string";
}

function quoted(value: string | number | null): string {
  if (value === null) return "";
  const text =
    typeof value === "number" ? String(Number.isInteger(value) ? value : Number(value.toPrecision(7))) : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** RFC 4180 text of the rows in the given order. */
export function csv(atlas: Atlas, rows: Iterable<number>): string {
  const fields = fieldsOf(atlas);
  const lines = [fields.map(quoted).join(",")];
  for (const row of rows) lines.push(fields.map((field) => quoted(fieldAt(atlas, row, field))).join(","));
  return `${lines.join("\r\n")}\r\n`;
}
