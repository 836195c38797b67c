// SPDX-License-Identifier: Apache-2.0
// Columns of the page's data, unpacked. The encodings are described in report-data.gen.ts (Column).
import type { Axis, Cells, Column, Dictionary } from "./report-data.gen";

export type Codes = Uint8Array | Uint16Array | Uint32Array;

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(base64: string): Promise<ArrayBuffer> {
  const { readable, writable } = new DecompressionStream("gzip");
  const writer = writable.getWriter(); // a stream of a Blob asks another process, for each of a page's hundred columns
  Promise.all([writer.write(fromBase64(base64)), writer.close()]).catch(() => {}); // who reads hears of it
  const reader = readable.getReader(); // and a Response another thread
  const chunks: Uint8Array[] = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(next.value);
  const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes.buffer;
}

/** A text for each row. */
export type Texts = (row: number) => string;

/** A column of texts. Many of them are packed, as a JSON array. */
export async function texts({ texts: few, packed_texts, codes }: Dictionary): Promise<Texts> {
  const all = packed_texts ? (JSON.parse(new TextDecoder().decode(await inflate(packed_texts))) as string[]) : few;
  const places = await integers(codes);
  return (row) => all[places[row] ?? -1] ?? "";
}

const INTEGERS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array };

/** A column of plain integers. */
export async function integers({ data, encoding, step }: Column): Promise<Codes> {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) throw new Error("this page needs a little-endian machine");
  if (!(encoding in INTEGERS)) throw new Error(`integers cannot be encoded as ${encoding}`);
  const stored = new INTEGERS[encoding as keyof typeof INTEGERS](await inflate(data));
  let sum = 0;
  return step ? Uint32Array.from(stored, (each) => (sum += each)) : stored;
}

/** A column of plain numbers, NaN where unknown. */
export async function numbers(column: Column): Promise<Float64Array> {
  const raw = await inflate(column.data);
  const packed = column.encoding === "log16";
  const read = packed ? log16(raw, column) : f32(raw);
  return Float64Array.from({ length: raw.byteLength / (packed ? 2 : 4) }, (_, i) => read(i));
}

export type Reader = (row: number) => number;

function f32(raw: ArrayBuffer): Reader {
  const floats = new Float32Array(raw);
  return (row) => floats[row] ?? Number.NaN;
}

function log16(raw: ArrayBuffer, column: Column): Reader {
  const planes = new Uint8Array(raw);
  const n = planes.length / 2;
  return (row) => {
    const code = (planes[row] ?? 0) | ((planes[n + row] ?? 0) << 8);
    return code === 0 ? Number.NaN : Math.exp(column.base + (code - 1) * column.step);
  };
}

/** Makes what has a name once, however often it is asked for. */
function once<T>(make: (name: string) => Promise<T>): (name: string) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (name) => {
    const known = made.get(name) ?? make(name);
    made.set(name, known);
    return known;
  };
}

export type Values = Awaited<ReturnType<typeof openValues>>;

/** The value columns of the cells. A value is decoded when it is read: a large page need not decode what nobody looks at. */
export async function openValues({ values }: Cells, axes: readonly Axis[], levels: readonly Codes[]) {
  /** A column, also one that another is made from: without it that one has no values. */
  const columnOf = (name: string): Column => {
    const column = values[name];
    if (!column) throw new Error(`the page's data lacks the column ${name}`);
    return column;
  };
  /** Codes of an interval's width; a mirrored column holds their distance from the other bound's codes. */
  const widthCodes = once(async (name): Promise<Uint8Array> => {
    const { data, mirror } = columnOf(name);
    const codes = new Uint8Array(await inflate(data));
    const other = mirror ? await widthCodes(mirror) : null;
    return other ? codes.map((code, i) => code + (other[i] ?? 0)) : codes;
  });
  const open = once(async (name): Promise<Reader> => {
    const column = columnOf(name);
    switch (column.encoding) {
      case "f32":
        return f32(await inflate(column.data));
      case "log16":
        return log16(await inflate(column.data), column);
      case "quotient": {
        const of = await open(column.of);
        const a = axes.findIndex((axis) => axis.name === column.by);
        const by = (axes[a]?.levels ?? []).map(Number);
        const level = levels[a];
        return (row) => of(row) / (by[level?.[row] ?? 0] ?? Number.NaN);
      }
      case "width8": {
        const [of, codes] = await Promise.all([open(column.of), widthCodes(name)]);
        const widths = Float64Array.from({ length: 256 }, (_, code) =>
          code === 0 ? Number.NaN : code === 1 ? 0 : Math.exp(column.base + (code - 2) * column.step),
        );
        return (row) => of(row) * Math.exp(column.sign * (widths[codes[row] ?? 0] ?? Number.NaN));
      }
      default:
        throw new Error(`values cannot be encoded as ${column.encoding}`);
    }
  });
  const names = Object.keys(values);
  const readers = await Promise.all(names.map(open));
  /** The values of a column by row; NaN where one is unknown, or the page has no such column. */
  const reader = (name: string): Reader => readers[names.indexOf(name)] ?? (() => Number.NaN);
  return { reader, has: (name: string) => name in values, at: (name: string, row: number) => reader(name)(row) };
}
