// SPDX-License-Identifier: Apache-2.0
// Columns of the page's data, unpacked. The encodings are described in report-data.gen.ts (Column).
import type { Axis, Cells, Column } from "./report-data.gen";

export type Codes = Uint8Array | Uint16Array | Uint32Array;

async function inflate(base64: string): Promise<ArrayBuffer> {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

function littleEndian(): boolean {
  return new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
}

/** A column of plain integers. */
export async function integers(column: Column): Promise<Codes> {
  const raw = await inflate(column.data);
  if (!littleEndian()) throw new Error("this page needs a little-endian machine");
  switch (column.encoding) {
    case "u8":
      return new Uint8Array(raw);
    case "u16":
      return new Uint16Array(raw);
    case "u32":
      return new Uint32Array(raw);
    default:
      throw new Error(`integers cannot be encoded as ${column.encoding}`);
  }
}

function logScale(raw: ArrayBuffer, base: number, step: number): Float64Array {
  const planes = new Uint8Array(raw);
  const n = planes.length / 2;
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const code = (planes[i] ?? 0) | ((planes[n + i] ?? 0) << 8);
    values[i] = code === 0 ? Number.NaN : Math.exp(base + (code - 1) * step);
  }
  return values;
}

/** Every value column of the cells by name, NaN where unknown. */
export async function values(
  cells: Cells,
  axes: readonly Axis[],
  levels: readonly Codes[],
): Promise<Map<string, Float64Array>> {
  const decoded = new Map<string, Float64Array>();
  const widths = new Map<string, Uint8Array>();
  const columns = Object.entries(cells.values);
  const raw = new Map(
    await Promise.all(
      columns
        .filter(([, column]) => column.encoding !== "quotient")
        .map(async ([name, column]) => [name, await inflate(column.data)] as const),
    ),
  );
  const bytes = (name: string) => raw.get(name) ?? new ArrayBuffer(0);

  /** Codes of an interval's width; a mirrored column holds its distance from the other bound's codes. */
  const codesOf = (name: string): Uint8Array => {
    const known = widths.get(name);
    if (known) return known;
    const column = cells.values[name];
    const codes = new Uint8Array(bytes(name));
    if (column?.mirror) {
      const other = codesOf(column.mirror);
      for (let i = 0; i < codes.length; i++) codes[i] = (codes[i] ?? 0) + (other[i] ?? 0);
    }
    widths.set(name, codes);
    return codes;
  };

  const value = (name: string): Float64Array => {
    const known = decoded.get(name);
    if (known) return known;
    const column = cells.values[name];
    if (!column) throw new Error(`the page's data lacks the column ${name}`);
    const result = one(name, column);
    decoded.set(name, result);
    return result;
  };

  const one = (name: string, column: Column): Float64Array => {
    switch (column.encoding) {
      case "f32":
        return Float64Array.from(new Float32Array(bytes(name)));
      case "log16":
        return logScale(bytes(name), column.base, column.step);
      case "quotient": {
        const of = value(column.of);
        const at = axes.findIndex((axis) => axis.name === column.by);
        const by = (axes[at]?.levels ?? []).map(Number);
        const level = levels[at];
        return of.map((v, i) => v / (by[level?.[i] ?? 0] ?? Number.NaN));
      }
      case "width8": {
        const of = value(column.of);
        const codes = codesOf(name);
        return of.map((v, i) => {
          const code = codes[i] ?? 0;
          if (code === 0) return Number.NaN;
          return code === 1 ? v : v * Math.exp(column.sign * Math.exp(column.base + (code - 2) * column.step));
        });
      }
      default:
        throw new Error(`values cannot be encoded as ${column.encoding}`);
    }
  };

  for (const [name] of columns) value(name);
  return decoded;
}
