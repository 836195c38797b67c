// SPDX-License-Identifier: Apache-2.0
// How cells that are not plain measured values are told apart without colour. One shape each:
//   predicted    a smaller cell        unstable      a wave-like zigzag; on grey: runs disagree
//   wide         an interval's bar
//   imported     a frame inside        suspect       a filled corner
//   minimum      an arrow up
//   undecided    a ring           alike         two level lines
//   inadmissible a cross on grey       unmeasured    dots on the paper       absent  nothing
import type { Mark } from "../lib/atlas";

export interface Inks {
  /** The paper behind cells, the grey of cells that cannot exist, and lines on both. */
  paper: string;
  grey: string;
  line: string;
}

export const LIGHT_INKS: Inks = { paper: "#ffffff", grey: "#e4e6e8", line: "#5d666e" };
export const DARK_INKS: Inks = { paper: "#14181b", grey: "#2b3136", line: "#98a1a9" };

type Context = CanvasRenderingContext2D;

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Marks that are lines, as SVG writes paths. */
const LINES: Partial<Record<Mark, (box: Box) => string>> = {
  imported: ({ x, y, w, h }) => `M${x + 1.5},${y + 1.5}h${w - 3}v${h - 3}h${3 - w}z`,
  wide: ({ x, y, w, h }) => {
    const half = Math.min(w - 2, 22) / 2;
    const rise = Math.max(1.5, Math.min(h * 0.3, 3));
    const [from, to, middle] = [x + w / 2 - half, x + w / 2 + half, y + h / 2];
    return `M${from},${middle}H${to}M${from},${middle - rise}v${2 * rise}M${to},${middle - rise}v${2 * rise}`;
  },
  disagree: zigzag,
  unstable: zigzag,
  minimum: ({ x, y, w, h }) => {
    const size = Math.max(4, Math.min(w, h) * 0.3);
    const head = size / 2;
    return `M${x + w - size * 0.75 - 1},${y + 2 + size}v${-size}m${-head},${head}l${head},${-head}l${head},${head}`;
  },
  undecided: ({ x, y, w, h }) => {
    const small = Math.min(w, h);
    const r = Math.max(1.5, small * 0.13);
    const half = `a${r},${r} 0 0 1`;
    return `M${x + w - small * 0.24 - r},${y + small * 0.24}${half} ${2 * r},0${half} ${-2 * r},0z`;
  },
  alike: ({ x, y, w, h }) => {
    const small = Math.min(w, h);
    const arm = Math.max(3, small * 0.24);
    return [0.16, 0.32].map((down) => `M${x + w - 2},${y + small * down}h${-arm}`).join("");
  },
  inadmissible: ({ x, y, w, h }) => {
    const arm = Math.min(5, Math.min(w, h) * 0.24);
    const [left, top] = [x + w / 2 - arm, y + h / 2 - arm];
    return `M${left},${top}l${2 * arm},${2 * arm}m${-2 * arm},0l${2 * arm},${-2 * arm}`;
  },
};

function zigzag({ x, y, w, h }: Box): string {
  const step = Math.min(w - 2, 22) / 4;
  const rise = Math.max(1.5, Math.min(h * 0.22, 4.5));
  const wave = `l${step},${-2 * rise}l${step},${2 * rise}`;
  return `M${x + w / 2 - 2 * step},${y + h / 2 + rise}${wave}${wave}`;
}

/** Smallest cell that can lose some of itself and still show its colour; below, estimated cells are hatched. */
const FRAMED = 16;

/** Marks one cell. `ink` contrasts with its colour. */
export function drawMark(c: Context, mark: Mark, box: Box, ink: string, inks: Inks): void {
  const { x, y, w, h } = box;
  const small = Math.min(w, h);
  const fill = (style: string | CanvasPattern) => {
    c.fillStyle = style;
    c.fillRect(x, y, w, h);
  };
  c.lineWidth = small >= 14 ? 1.25 : 1;
  c.strokeStyle = ink;
  if (mark === "predicted" && small >= FRAMED) {
    const wide = Math.min(5, Math.round(small / 8));
    c.lineWidth = wide;
    c.strokeStyle = inks.paper;
    c.strokeRect(x + wide / 2, y + wide / 2, w - wide, h - wide);
  } else if (mark === "predicted") {
    fill(hatching(c, ink, small >= 8 ? 5 : 4));
  } else if (mark === "suspect") {
    const side = Math.max(4, small * 0.55);
    c.fillStyle = ink;
    c.fill(new Path2D(`M${x + w},${y}h${-side}l${side},${side}z`));
  } else if (mark === "inadmissible") {
    fill(inks.grey);
    c.strokeStyle = inks.line;
  } else if (mark === "unmeasured" || mark === "absent") {
    fill(inks.paper);
    if (mark === "unmeasured") dots(c, box, inks.line);
  }
  const lines = LINES[mark]?.(box);
  if (lines) c.stroke(new Path2D(lines));
}

const hatchings = new Map<string, CanvasPattern>();

/**
 * Diagonal lines as a pattern of the canvas's own pixels, anchored to the tile, so neighbouring predicted cells read as one region.
 * Lighter than other marks: a map may be mostly predicted, and its colours must still be read.
 */
function hatching(c: Context, ink: string, pitch: number): CanvasPattern | string {
  const ratio = Math.max(1, globalThis.devicePixelRatio || 1);
  const key = `${ink} ${pitch} ${ratio}`;
  const known = hatchings.get(key);
  if (known) return known;
  const side = Math.max(2, Math.round(pitch * ratio));
  const cell = new OffscreenCanvas(side, side);
  const p = cell.getContext("2d");
  if (!p) return ink;
  p.globalAlpha = 0.6;
  p.strokeStyle = ink;
  p.lineWidth = ratio;
  p.beginPath();
  for (const shift of [-side, 0, side]) {
    p.moveTo(shift + side + 1, -1);
    p.lineTo(shift - 1, side + 1);
  }
  p.stroke();
  const made = c.createPattern(cell, "repeat");
  if (!made) return ink;
  made.setTransform(new DOMMatrix().scale(1 / ratio));
  hatchings.set(key, made);
  return made;
}

function dots(c: Context, { x, y, w, h }: Box, ink: string): void {
  const pitch = Math.min(w, h) >= 14 ? 5 : 4;
  c.fillStyle = ink;
  for (let py = Math.ceil(y / pitch) * pitch; py < y + h - 0.5; py += pitch) {
    for (let px = Math.ceil(x / pitch) * pitch; px < x + w - 0.5; px += pitch) c.fillRect(px, py, 1, 1);
  }
}
