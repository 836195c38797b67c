// SPDX-License-Identifier: Apache-2.0
// What the uPlot charts of a page have in common: their inks and their axes.
import type uPlot from "uplot";
import { makeScale, type ScaleKind, ticks } from "../lib/scale";

export const FONT = "11px system-ui, sans-serif";

export interface Inks {
  ink: string;
  soft: string;
  grid: string;
  accent: string;
  paper: string;
}

export function inks(dark: boolean): Inks {
  return dark
    ? { ink: "#e7eaec", soft: "#a0a9b1", grid: "#2a3136", accent: "#8cc0f5", paper: "#14181b" }
    : { ink: "#1b2126", soft: "#55606a", grid: "#e3e6e8", accent: "#0b5cad", paper: "#ffffff" };
}

/** The axis along the bottom. */
export function bottomAxis(colours: Inks, rest: uPlot.Axis): uPlot.Axis {
  return {
    stroke: colours.soft,
    font: FONT,
    gap: 4,
    grid: { show: false },
    ticks: { stroke: colours.grid, size: 4 },
    ...rest,
  };
}

/** The axis of the values, with round ones at the ticks. */
export function valueAxis(
  colours: Inks,
  range: readonly [number, number],
  kind: ScaleKind,
  base: number,
  text: (value: number) => string,
): uPlot.Axis {
  return {
    stroke: colours.soft,
    font: FONT,
    size: 72,
    gap: 4,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    splits: () => ticks({ ...makeScale(kind, range[0], range[1]), from: range[0], to: range[1] }, base, 5),
    values: (_u, splits) => splits.map((v) => (v === null ? "" : text(v))),
  };
}
