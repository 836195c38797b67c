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

/** Marks one cell. `ink` contrasts with its colour. */
export function drawMark(
  c: Context,
  mark: Mark,
  x: number,
  y: number,
  w: number,
  h: number,
  ink: string,
  inks: Inks,
): void {
  const small = Math.min(w, h);
  c.lineWidth = small >= 14 ? 1.25 : 1;
  switch (mark) {
    case "predicted":
      if (small >= FRAMED) frame(c, x, y, w, h, Math.min(5, Math.round(small / 8)), inks.paper);
      else {
        c.fillStyle = hatching(c, ink, small >= 8 ? 5 : 4);
        c.fillRect(x, y, w, h);
      }
      return;
    case "imported":
      c.strokeStyle = ink;
      c.strokeRect(x + 1.5, y + 1.5, w - 3, h - 3);
      return;
    case "wide":
      bar(c, x, y, w, h, ink);
      return;
    case "disagree":
    case "unstable":
      zigzag(c, x, y, w, h, ink);
      return;
    case "minimum":
      arrowUp(c, x + w, y, Math.max(4, small * 0.3), ink);
      return;
    case "undecided":
      c.strokeStyle = ink;
      c.beginPath();
      c.arc(x + w - small * 0.24, y + small * 0.24, Math.max(1.5, small * 0.13), 0, 2 * Math.PI);
      c.stroke();
      return;
    case "alike": {
      const arm = Math.max(3, small * 0.24);
      c.strokeStyle = ink;
      c.beginPath();
      for (const up of [0.16, 0.32]) {
        c.moveTo(x + w - 2, y + small * up);
        c.lineTo(x + w - 2 - arm, y + small * up);
      }
      c.stroke();
      return;
    }
    case "suspect": {
      const side = Math.max(4, small * 0.55);
      c.fillStyle = ink;
      c.beginPath();
      c.moveTo(x + w, y);
      c.lineTo(x + w - side, y);
      c.lineTo(x + w, y + side);
      c.closePath();
      c.fill();
      return;
    }
    case "inadmissible":
      c.fillStyle = inks.grey;
      c.fillRect(x, y, w, h);
      c.strokeStyle = inks.line;
      c.beginPath();
      cross(c, x + w / 2, y + h / 2, Math.min(5, small * 0.24));
      c.stroke();
      return;
    case "unmeasured":
      c.fillStyle = inks.paper;
      c.fillRect(x, y, w, h);
      c.fillStyle = inks.line;
      dots(c, x, y, w, h, small >= 14 ? 5 : 4);
      return;
    case "absent":
      c.fillStyle = inks.paper;
      c.fillRect(x, y, w, h);
      return;
    case "steady":
      return;
  }
}

/** Smallest cell that can lose some of itself and still show its colour; below, estimated cells are hatched. */
const FRAMED = 16;

function frame(c: Context, x: number, y: number, w: number, h: number, wide: number, paper: string): void {
  c.fillStyle = paper;
  c.fillRect(x, y, w, wide);
  c.fillRect(x, y + h - wide, w, wide);
  c.fillRect(x, y, wide, h);
  c.fillRect(x + w - wide, y, wide, h);
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

function zigzag(c: Context, x: number, y: number, w: number, h: number, ink: string): void {
  const span = Math.min(w - 2, 22);
  const left = x + (w - span) / 2;
  const middle = y + h / 2;
  const rise = Math.max(1.5, Math.min(h * 0.22, 4.5));
  c.strokeStyle = ink;
  c.beginPath();
  c.moveTo(left, middle + rise);
  for (let k = 1; k <= 4; k++) c.lineTo(left + (span * k) / 4, middle + (k % 2 ? -rise : rise));
  c.stroke();
}

/** An interval, end to end. */
function bar(c: Context, x: number, y: number, w: number, h: number, ink: string): void {
  const half = Math.min(w - 2, 22) / 2;
  const [middle, level] = [x + w / 2, y + h / 2];
  const rise = Math.max(1.5, Math.min(h * 0.3, 3));
  c.strokeStyle = ink;
  c.beginPath();
  c.moveTo(middle - half, level);
  c.lineTo(middle + half, level);
  for (const end of [middle - half, middle + half]) {
    c.moveTo(end, level - rise);
    c.lineTo(end, level + rise);
  }
  c.stroke();
}

/** In the corner at the right: the target may do more. */
function arrowUp(c: Context, right: number, top: number, size: number, ink: string): void {
  const [middle, head] = [right - size * 0.75 - 1, size * 0.5];
  c.strokeStyle = ink;
  c.beginPath();
  c.moveTo(middle, top + 2 + size);
  c.lineTo(middle, top + 2);
  c.moveTo(middle - head, top + 2 + head);
  c.lineTo(middle, top + 2);
  c.lineTo(middle + head, top + 2 + head);
  c.stroke();
}

function cross(c: Context, x: number, y: number, arm: number): void {
  c.moveTo(x - arm, y - arm);
  c.lineTo(x + arm, y + arm);
  c.moveTo(x - arm, y + arm);
  c.lineTo(x + arm, y - arm);
}

function dots(c: Context, x: number, y: number, w: number, h: number, pitch: number): void {
  const x0 = Math.ceil(x / pitch) * pitch;
  const y0 = Math.ceil(y / pitch) * pitch;
  for (let py = y0; py < y + h - 0.5; py += pitch) {
    for (let px = x0; px < x + w - 0.5; px += pitch) c.fillRect(px, py, 1, 1);
  }
}
