// SPDX-License-Identifier: Apache-2.0
// Geometry of the tiled map in CSS pixels, and which cell is under a point: arithmetic only.

export interface Shape {
  /** Cells across and up in a tile. */
  nx: number;
  ny: number;
  /** Tiles across and down; one of each when an axis is not placed. */
  columns: number;
  rows: number;
  /** Only one tile axis: its tiles may flow over several lines, each with its own heading. */
  flow: boolean;
}

export interface Tile {
  /** Position among the tile levels: column and row of the sweep, not of the screen. */
  column: number;
  row: number;
  left: number;
  top: number;
  /** Where tick labels belong: at the left edge, at the bottom of its column. */
  edgeLeft: boolean;
  edgeBottom: boolean;
}

export interface Layout {
  shape: Shape;
  cellWidth: number;
  cellHeight: number;
  tileWidth: number;
  tileHeight: number;
  tiles: Tile[];
  width: number;
  height: number;
  /** Height of the headings above the tiles. */
  heading: number;
  /** Tiles on one line of the screen. */
  perLine: number;
}

export interface CellPlace {
  x: number;
  y: number;
  column: number;
  row: number;
}

const GAP = 10;
const HEADING = 20;
const TICKS = 18;
const BETWEEN = 7;
/** Narrowest cell on a screen, to be seen and hit. */
export const CELL_MIN = 6;
const CELL_MAX = 120;
const CELL_MAX_ALONE = 112;
const HEIGHT_MAX = 80;
const LOWEST = 8;
/** Height the tiles of a map should share. */
const SCREEN = 560;

function snap(cell: number): number {
  return cell >= 3 ? Math.floor(cell) : cell;
}

/** Places the tiles in `width`, with room beside them for the tick labels of y and for the row headings; the map may be wider than that when cells would become too small to see and hit. */
export function layOut(
  shape: Shape,
  gutters: { left: number; right: number },
  width: number,
  cellMin = CELL_MIN,
): Layout {
  const { nx, ny, columns, rows, flow } = shape;
  const room = Math.max(60, width - gutters.left - gutters.right);
  const smallest = nx > 80 ? Math.max(1, 240 / nx) : cellMin;
  const tiles: Tile[] = [];
  const n = columns * rows;
  let perLine = columns;
  if (flow) {
    // The most tiles a line can hold at a comfortable cell size, evened out over the lines.
    const comfortable = Math.max(nx > 24 ? smallest * 1.5 : 12, 76 / nx);
    perLine = Math.max(1, Math.min(n, Math.floor((room + GAP) / (nx * comfortable + GAP))));
    perLine = Math.ceil(n / Math.ceil(n / perLine));
  }
  const fitting = (room - GAP * (perLine - 1)) / (perLine * nx);
  const cellWidth = snap(Math.min(ny === 1 ? CELL_MAX_ALONE : CELL_MAX, Math.max(smallest, fitting)));
  const lines = flow ? Math.ceil(n / perLine) : rows;
  // As high as lets the whole map fit a screen, within what still looks like a cell of this width.
  const tallest = Math.min(HEIGHT_MAX, Math.max(cellWidth * 1.25, 140 / ny));
  const lowest = ny > 80 ? Math.max(1, 200 / ny) : LOWEST;
  const cellHeight = ny === 1 ? 44 : snap(Math.max(lowest, Math.min(tallest, SCREEN / (lines * ny))));
  const tileWidth = nx * cellWidth;
  const tileHeight = ny * cellHeight;
  const headingAbove = (line: number) => (n === 1 ? 0 : flow || line === 0 ? HEADING : 0);
  let top = 0;
  for (let line = 0; line < lines; line++) {
    top += headingAbove(line);
    for (let at = 0; at < perLine; at++) {
      const index = line * perLine + at;
      if (index >= n) break;
      tiles.push({
        column: index % columns,
        row: Math.floor(index / columns),
        left: gutters.left + at * (tileWidth + GAP),
        top,
        edgeLeft: at === 0,
        edgeBottom: index + perLine >= n,
      });
    }
    top += tileHeight + (line === lines - 1 ? 0 : flow ? GAP + (line === lines - 2 ? TICKS : BETWEEN) : GAP);
  }
  return {
    shape,
    cellWidth,
    cellHeight,
    tileWidth,
    tileHeight,
    tiles,
    width: gutters.left + perLine * tileWidth + (perLine - 1) * GAP + gutters.right,
    height: top + TICKS,
    heading: headingAbove(0),
    perLine,
  };
}

/** The cell under a point of the map, or null between tiles. `y` counts levels upwards, as on a chart. */
export function hit(layout: Layout, px: number, py: number): CellPlace | null {
  for (const tile of layout.tiles) {
    const dx = px - tile.left;
    const dy = py - tile.top;
    if (dx < 0 || dy < 0 || dx >= layout.tileWidth || dy >= layout.tileHeight) continue;
    const x = Math.min(layout.shape.nx - 1, Math.floor(dx / layout.cellWidth));
    const y = layout.shape.ny - 1 - Math.min(layout.shape.ny - 1, Math.floor(dy / layout.cellHeight));
    return { x, y, column: tile.column, row: tile.row };
  }
  return null;
}

export function tileAt(layout: Layout, column: number, row: number): Tile | undefined {
  return layout.tiles[row * layout.shape.columns + column];
}

/** Left and top of a cell on the map. */
export function cellBox(layout: Layout, at: CellPlace): { left: number; top: number } {
  const tile = tileAt(layout, at.column, at.row);
  return {
    left: (tile?.left ?? 0) + at.x * layout.cellWidth,
    top: (tile?.top ?? 0) + (layout.shape.ny - 1 - at.y) * layout.cellHeight,
  };
}

/** Where an arrow key leads: to the next cell, over the edge into the neighbouring tile, or nowhere. */
export function step(layout: Layout, at: CellPlace, dx: number, dy: number): CellPlace {
  const { nx, ny } = layout.shape;
  let { x, y, column, row } = at;
  x += dx;
  y += dy;
  if (x < 0 || x >= nx || y < 0 || y >= ny) {
    const index = row * layout.shape.columns + column;
    const line = Math.floor(index / layout.perLine);
    const along = (index % layout.perLine) + (x < 0 ? -1 : x >= nx ? 1 : 0);
    const down = line + (y >= ny ? -1 : y < 0 ? 1 : 0);
    const next = down * layout.perLine + along;
    if (along < 0 || along >= layout.perLine || next < 0 || next >= layout.tiles.length) return at;
    column = next % layout.shape.columns;
    row = Math.floor(next / layout.shape.columns);
    x = (x + nx) % nx;
    y = (y + ny) % ny;
  }
  return { x, y, column, row };
}

/** Every how many levels a label fits. */
export function labelStride(levels: number, cell: number, label: number): number {
  return Math.max(1, Math.ceil(label / cell - 0.001), Math.ceil(levels / 400));
}

/** A place on the board, and a size where it is told. */
export function css(left: number, top: number, width?: number, height?: number): Record<string, string> {
  const box = Object.entries({ left, top, width, height }).filter(([, size]) => size !== undefined);
  return Object.fromEntries(box.map(([name, size]) => [name, `${size}px`]));
}
