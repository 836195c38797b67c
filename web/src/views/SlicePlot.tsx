// SPDX-License-Identifier: Apache-2.0
import type { Mark } from "../lib/atlas";
import { shortLevel } from "../lib/labels";
import type { Axis } from "../lib/report-data.gen";
import { makeScale, placedTicks, type ScaleKind, tickText } from "../lib/scale";
import { joined, type SlicePoint } from "../lib/slice";
import { useApp } from "./context";
import { type Box, Frame } from "./Frame";
import { type Place, Series, Shape, type ShapeName } from "./Series";

const BOX: Box = { width: 440, height: 210, left: 74, right: 14, top: 10, bottom: 24 };
const ROOM_FOR_NAMES = 36;
/** How far above the largest value a bound may lie and still be drawn: beyond it would press the values flat. */
const REACH: Record<ScaleKind, number> = { linear: 4, log: 100 };

/** A slice: a line through measured cells, error bars, and a shape for each kind of point. */
export function SlicePlot(props: {
  label: string;
  axis: Axis;
  points: readonly SlicePoint[];
  /** Thin lines: the same cells at other levels of some axis. */
  neighbours: readonly { label: string; points: readonly SlicePoint[] }[];
  /** The bound of the path at each level, drawn where it lies near enough to be seen. */
  ceiling: { names: readonly string[]; values: readonly number[] };
  /** The level of the pinned cell. */
  at: number;
  onPick: (level: number) => void;
  onHover: (level: number | null) => void;
}) {
  const state = useApp();
  const { points, neighbours, axis } = props;
  const [system, kind, quantity] = [state.units.value, state.scaleKind.value, state.quantity.value];
  /** Between numbers there is something, but no line leads to where the option is not set. */
  const numeric = axis.levels.every((level) => level === null || typeof level === "number");
  const unset = axis.levels.indexOf(null);
  const level = (index: number) => shortLevel(axis, axis.levels[index], system);
  const value = (v: number) => tickText(quantity.format(v, system));
  const box = neighbours.length ? { ...BOX, right: BOX.right + ROOM_FOR_NAMES } : BOX;
  const drawable = (v: number) => Number.isFinite(v) && (kind === "linear" || v > 0);
  const most = Math.max(...points.map((p) => (Number.isFinite(p.value) ? p.value : 0)));
  const bounds = props.ceiling.values.map((v) => (v <= most * REACH[kind] ? v : Number.NaN));
  const values = [
    ...points.flatMap((p) => [p.value, p.low, p.high]),
    ...neighbours.flatMap((n) => n.points.map((p) => p.value)),
    ...bounds,
  ].filter(drawable);
  const [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
  const scale =
    kind === "log" && values.length
      ? makeScale("log", low / 1.3, high * 1.3)
      : makeScale("linear", low, high * 1.06 || 1);
  const [width, height] = [box.width - box.left - box.right, box.height - box.top - box.bottom];
  const px = (level: number) => box.left + (width * (level + 0.4)) / (points.length - 0.2);
  const py = (v: number) => box.top + height * (1 - scale.place(v));
  const place = (p: SlicePoint) => ({
    ...p,
    x: px(p.level),
    y: py(p.value),
    text: `${level(p.level)}: ${value(p.value)}`,
    ...(Number.isFinite(p.low) && Number.isFinite(p.high)
      ? { top: py(p.high), bottom: py(kind === "log" ? Math.max(p.low, scale.from) : p.low) }
      : {}),
  });
  const placed = (line: readonly SlicePoint[]) => line.filter((p) => drawable(p.value)).map(place);
  const runs = (line: readonly SlicePoint[]) => joined(line, numeric, unset).map(placed);
  const bounded = bounds.flatMap((v, level) => (Number.isFinite(v) ? [{ x: px(level), y: py(v), text: "" }] : []));
  const bound = bounded.at(-1);
  return (
    <Frame
      box={box}
      label={props.label}
      xName=""
      xTicks={points.map((p) => ({ at: px(p.level), text: level(p.level) }))}
      yTicks={placedTicks(scale, quantity.inBytes && system === "iec" ? 1024 : 10, 5, py, value)}
    >
      {named(
        neighbours.map(({ label, points: line }) => ({ label, points: placed(line.map(alone)), runs: runs(line) })),
      ).map((n) => (
        <Series
          key={n.label}
          look="chart-thin"
          points={n.points}
          runs={n.runs}
          name={n.name}
          shape={(p) => <Shape name="dot" x={p.x} y={p.y} />}
        />
      ))}
      {bound && bounded.length > 1 ? (
        <>
          <polyline class="chart-bound" points={bounded.map((p) => `${p.x},${p.y}`).join(" ")} />
          <text class="chart-bound-name" x={bound.x} y={bound.y + 14} text-anchor="end">
            {props.ceiling.names[bounds.findLastIndex(Number.isFinite)]}
          </text>
        </>
      ) : null}
      <Series look="chart-line" points={placed(points)} runs={runs(points)} shape={Point} />
      {drawable(points[props.at]?.value ?? Number.NaN) ? (
        <circle class="chart-ring" cx={px(props.at)} cy={py(points[props.at]?.value ?? 0)} r={7} />
      ) : null}
      {points.map((p) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys of the map do the same
        <rect
          key={p.level}
          class="chart-hit"
          x={px(p.level - 0.5)}
          y={box.top}
          width={px(1) - px(0)}
          height={height}
          onMouseEnter={() => props.onHover(p.level)}
          onMouseLeave={() => props.onHover(null)}
          onClick={() => props.onPick(p.level)}
        />
      ))}
    </Frame>
  );
}

/** Lines with their names, those left out whose ends lie too near to another's. */
function named<L extends { label: string; points: readonly Place[] }>(lines: readonly L[]): (L & { name: string })[] {
  let last = Number.POSITIVE_INFINITY;
  const sorted = lines
    .filter((l) => l.points.length)
    .sort((a, b) => (b.points.at(-1)?.y ?? 0) - (a.points.at(-1)?.y ?? 0));
  return sorted.map((line) => {
    const y = line.points.at(-1)?.y ?? 0;
    const name = last - y < 10 ? "" : line.label;
    if (name) last = y;
    return { ...line, name };
  });
}

const alone = (p: SlicePoint) => ({ ...p, low: Number.NaN, high: Number.NaN });

/** What points that are no plain measured values look like. */
const SHAPES: Partial<Record<Mark, ShapeName>> = {
  imported: "square",
  unstable: "triangle",
  disagree: "triangle",
  suspect: "diamond",
};

/** Open shapes are estimated or imported; an arrow up is a minimum. */
function Point({ x, y, mark }: Place & { mark: Mark }) {
  return (
    <>
      <Shape name={SHAPES[mark] ?? "circle"} x={x} y={y} hollow={mark === "predicted" || mark === "imported"} />
      {mark === "minimum" ? <path class="chart-bar" d={`M${x - 3.6},${y - 7}l3.6,-3.6l3.6,3.6`} /> : null}
    </>
  );
}
