// SPDX-License-Identifier: Apache-2.0
// The tiles of the map on one canvas: colours by one pixel a cell scaled up, then the marks, then numbers where they fit.
import { type Atlas, DOUBTED, type Mark, markOf } from "../lib/atlas";
import type { Palette } from "../lib/palettes";
import type { Reading } from "../lib/quantities";
import type { Scale } from "../lib/scale";
import type { Layout } from "./layout";
import { drawMark, type Inks } from "./marks";

export interface Paint {
  atlas: Atlas;
  reading: Reading;
  scale: Scale;
  palette: Palette;
  inks: Inks;
  /** Writes a value into a cell that has room for it. */
  number: (value: number) => string;
  /** Rows to outline: the evidence of a finding. */
  outlined: ReadonlySet<number>;
}

const DARK = "rgb(0 0 0 / 0.72)";
const BRIGHT = "rgb(255 255 255 / 0.85)";
const MARK_FROM = 4;
const GRID_FROM = 9;
const FONT = "11px system-ui, sans-serif";
const NUMBER_FROM = { width: 44, height: 20 };

/** Widths and colours of the lines around a cell that is evidence. */
const OUTLINE = [
  [3, "#000"],
  [1.25, "#fff"],
] as const;

/** Marks that lie at the lower edge where a number stands in the middle. */
const LOW: ReadonlySet<Mark> = new Set(["unstable", "disagree", "wide"]);

/** Pixels that every browser grants a canvas. */
const MOST_PIXELS = 1 << 24;

let colours: OffscreenCanvas | undefined;

/** slots: those of each tile's cells one after the other, row by row from the top of the picture. */
export function paintMap(canvas: HTMLCanvasElement, layout: Layout, slots: Int32Array, paint: Paint): void {
  const { cellWidth, cellHeight, tileWidth, tileHeight, tiles, width, height } = layout;
  const { nx, ny } = layout.shape;
  const ratio = Math.min(Math.max(1, globalThis.devicePixelRatio || 1), Math.sqrt(MOST_PIXELS / (width * height)));
  const pixels = (size: number) => Math.round(size * ratio);
  const c = canvas.getContext("2d");
  if (!c) return;
  const { atlas, reading, scale, palette, inks } = paint;

  // A colour for each cell.
  const image = new ImageData(nx, ny * tiles.length);
  const words = new Uint32Array(image.data.buffer);
  const steps = new Uint8Array(slots.length);
  const marks: Mark[] = new Array(slots.length);
  const [paper, grey] = [wordOf(inks.paper), wordOf(inks.grey)];
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i] ?? 0;
    let mark = (slot > 0 ? reading.marks?.[slot - 1] : undefined) ?? markOf(atlas, slot);
    const value = slot > 0 ? (reading.value[slot - 1] ?? Number.NaN) : Number.NaN;
    const place = scale.place(value);
    if (Number.isNaN(place)) {
      words[i] = paper;
      // A row without this quantity looks like one that was not measured.
      if (slot > 0) mark = "unmeasured";
    } else if (DOUBTED.has(mark)) {
      words[i] = grey;
    } else {
      const step = Math.round(place * 255);
      steps[i] = step;
      words[i] = palette.words[step] ?? paper;
    }
    marks[i] = mark;
  }
  colours ??= new OffscreenCanvas(1, 1);
  widen(colours, image.width, image.height);
  colours.getContext("2d")?.putImageData(image, 0, 0);
  widen(canvas, pixels(width), pixels(height));
  canvas.style.width = `${canvas.width / ratio}px`;
  canvas.style.height = `${canvas.height / ratio}px`;
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.clearRect(0, 0, canvas.width, canvas.height);
  c.imageSmoothingEnabled = false;
  const marked = Math.min(cellWidth, cellHeight) >= MARK_FROM;
  const numbered = cellWidth >= NUMBER_FROM.width && cellHeight >= NUMBER_FROM.height;
  if (numbered) {
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = FONT;
  }
  for (const [t, tile] of tiles.entries()) {
    const [left, top] = [pixels(tile.left), pixels(tile.top)];
    c.setTransform(1, 0, 0, 1, left, top);
    c.drawImage(colours, 0, t * ny, nx, ny, 0, 0, pixels(tileWidth), pixels(tileHeight));
    c.setTransform(ratio, 0, 0, ratio, left, top);
    for (let i = t * nx * ny; i < (t + 1) * nx * ny; i++) {
      const slot = slots[i] ?? 0;
      const mark = marks[i] ?? "absent";
      const outlined = slot > 0 && paint.outlined.has(slot - 1);
      if (!numbered && !outlined && (mark === "steady" || !marked)) continue;
      const x = (i % nx) * cellWidth;
      const y = (Math.floor(i / nx) - t * ny) * cellHeight;
      const apart = DOUBTED.has(mark);
      const ink = apart ? inks.line : palette.light[steps[i] ?? 0] ? DARK : BRIGHT;
      const text = numbered && slot > 0 && mark !== "unmeasured" ? textOf(paint, slot - 1, mark === "disagree") : "";
      if (marked && mark !== "steady") {
        // With a number in the middle, lines and waves move to the lower edge.
        const low = text && LOW.has(mark);
        const box = { x, y: low ? y + cellHeight - 8 : y, w: cellWidth, h: low ? 8 : cellHeight };
        drawMark(c, mark, box, ink, inks);
      }
      if (text) {
        const guessed = mark === "predicted";
        if (guessed) c.font = `italic ${FONT}`;
        c.fillStyle = apart ? inks.line : ink === DARK ? "#000" : "#fff";
        c.fillText(
          guessed ? `${text}~` : text,
          x + cellWidth / 2,
          y + cellHeight / 2 - (LOW.has(mark) ? 3 : 0),
          cellWidth - 6,
        );
        if (guessed) c.font = FONT;
      }
      for (const [wide, colour] of outlined ? OUTLINE : []) {
        c.lineWidth = wide;
        c.strokeStyle = colour;
        c.strokeRect(x + 1, y + 1, cellWidth - 2, cellHeight - 2);
      }
    }
    if (Math.min(cellWidth, cellHeight) >= GRID_FROM) {
      c.fillStyle = inks.paper;
      for (let x = 1; x < nx; x++) c.fillRect(x * cellWidth - 0.5, 0, 1, tileHeight);
      for (let y = 1; y < ny; y++) c.fillRect(0, y * cellHeight - 0.5, tileWidth, 1);
    }
  }
}

/** Gives a canvas at least a size. It never shrinks: another size costs a browser more than all that is drawn. */
function widen(canvas: HTMLCanvasElement | OffscreenCanvas, width: number, height: number): void {
  if (canvas.width >= width && canvas.height >= height) return;
  const [wide, high] = [Math.max(canvas.width, width), Math.max(canvas.height, height)];
  [canvas.width, canvas.height] = wide * high > MOST_PIXELS ? [width, height] : [wide, high];
}

/** The value, or the range where runs disagree. */
function textOf({ number, reading }: Paint, row: number, apart: boolean): string {
  const at = (column: Float64Array) => number(column[row] ?? Number.NaN);
  const [low, high] = [at(reading.low), at(reading.high)];
  return apart && low && high ? `${low}–${high}` : at(reading.value);
}

function wordOf(hex: string): number {
  const n = Number.parseInt(hex.slice(1), 16);
  return ((255 << 24) | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}
