// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { cellBox, hit, layOut, type Shape, step } from "./layout";

const SHAPES: Record<string, Shape> = {
  paper: { nx: 12, ny: 10, columns: 8, rows: 8, flow: false },
  flowing: { nx: 12, ny: 10, columns: 8, rows: 1, flow: true },
  flowingRows: { nx: 3, ny: 4, columns: 1, rows: 5, flow: true },
  line: { nx: 10, ny: 1, columns: 1, rows: 1, flow: false },
  single: { nx: 1, ny: 1, columns: 1, rows: 1, flow: false },
  long: { nx: 500, ny: 300, columns: 1, rows: 1, flow: false },
};
const GUTTERS = { left: 60, right: 40 };

describe("layout", () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    for (const width of [340, 1200]) {
      test(`${name} at ${width}: every cell is hit where it is drawn, tiles do not overlap`, () => {
        const layout = layOut(shape, GUTTERS, width);
        expect(layout.tiles).toHaveLength(shape.columns * shape.rows);
        for (const tile of layout.tiles) {
          for (const [x, y] of [
            [0, 0],
            [shape.nx - 1, shape.ny - 1],
            [Math.floor(shape.nx / 2), Math.floor(shape.ny / 3)],
          ] as const) {
            const at = { x, y, column: tile.column, row: tile.row };
            const box = cellBox(layout, at);
            expect(hit(layout, box.left + layout.cellWidth / 2, box.top + layout.cellHeight / 2)).toEqual(at);
            expect(box.left + layout.cellWidth).toBeLessThanOrEqual(layout.width + 0.001);
            expect(box.top + layout.cellHeight).toBeLessThanOrEqual(layout.height + 0.001);
          }
        }
        expect(hit(layout, -1, -1)).toBeNull();
      });
    }
  }

  test("cells stay large enough to hit, paper may have smaller ones", () => {
    const paper = SHAPES.paper as Shape;
    expect(layOut(paper, GUTTERS, 340).cellWidth).toBeGreaterThanOrEqual(6);
    expect(layOut(paper, GUTTERS, 690, 2).width).toBeLessThanOrEqual(690);
  });

  test("tiles of one axis flow over as many lines as the width asks for", () => {
    const flowing = SHAPES.flowing as Shape;
    expect(layOut(flowing, GUTTERS, 2400).perLine).toBe(8);
    const narrow = layOut(flowing, GUTTERS, 400);
    expect(narrow.perLine).toBeLessThan(4);
    expect(narrow.width).toBeLessThanOrEqual(400);
  });

  test("steps cross into the neighbouring tile and stop at the rim", () => {
    const layout = layOut(SHAPES.paper as Shape, GUTTERS, 1200);
    expect(step(layout, { x: 11, y: 3, column: 0, row: 0 }, 1, 0)).toEqual({ x: 0, y: 3, column: 1, row: 0 });
    expect(step(layout, { x: 4, y: 0, column: 2, row: 0 }, 0, -1)).toEqual({ x: 4, y: 9, column: 2, row: 1 });
    const rim = { x: 0, y: 9, column: 0, row: 0 };
    expect(step(layout, rim, -1, 0)).toEqual(rim);
    expect(step(layout, rim, 0, 1)).toEqual(rim);
  });

  test("walking right along a line visits every cell of it once, also in flowing tiles", () => {
    for (const shape of [SHAPES.paper, SHAPES.flowing, SHAPES.flowingRows] as Shape[]) {
      const layout = layOut(shape, GUTTERS, 500);
      let at = { x: 0, y: 0, column: 0, row: 0 };
      const seen = new Set<string>();
      for (;;) {
        seen.add(JSON.stringify(at));
        const next = step(layout, at, 1, 0);
        if (next === at) break;
        at = next;
      }
      expect(seen.size).toBe(layout.perLine * shape.nx);
    }
  });
});
