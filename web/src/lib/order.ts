// SPDX-License-Identifier: Apache-2.0
// Rows of the table: which, and in which order.
import type { Atlas } from "./atlas";
import { fieldAt } from "./csv";

export interface Sorting {
  field: string;
  down: boolean;
}

/** Row numbers sorted by a field; unknown values last in either direction, equal ones in their old order. */
export function sortedRows(atlas: Atlas, rows: readonly number[], sorting: Sorting | null): number[] {
  if (!sorting) return [...rows];
  const keys = new Map(rows.map((row) => [row, fieldAt(atlas, row, sorting.field)] as const));
  const sign = sorting.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [u, v] = [keys.get(a) ?? null, keys.get(b) ?? null];
    if (u === null || v === null) return u === v ? a - b : u === null ? 1 : -1;
    if (typeof u === "number" && typeof v === "number") return sign * (u - v) || a - b;
    return sign * String(u).localeCompare(String(v), "en", { numeric: true }) || a - b;
  });
}
