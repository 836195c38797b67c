// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

/** A point where it is drawn, with the ends of its error bars where it has some. */
export interface Place {
  x: number;
  y: number;
  top?: number;
  bottom?: number;
  left?: number;
  right?: number;
  /** Its shape is open. */
  unsure?: boolean;
  text: string;
}

/** What a point looks like, as a path from its middle. */
const SHAPES = {
  dot: "m-1.5,0a1.5,1.5 0 1 1 3,0a1.5,1.5 0 1 1 -3,0z",
  circle: "m-3.5,0a3.5,3.5 0 1 1 7,0a3.5,3.5 0 1 1 -7,0z",
  square: "m-3.5,-3.5h7v7h-7z",
  triangle: "m0,-4.5l4.4,7.8h-8.8z",
  diamond: "m0,-4.8l4.8,4.8l-4.8,4.8l-4.8,-4.8z",
  cross: "m-3.5,-3.5l7,7m0,-7l-7,7",
  plus: "m0,-4.8v9.6m-4.8,-4.8h9.6",
};

export type ShapeName = keyof typeof SHAPES;

export function Shape(props: { name: ShapeName; x: number; y: number; hollow?: boolean | undefined }) {
  return <path class={props.hollow ? "chart-hollow" : ""} d={`M${props.x},${props.y}${SHAPES[props.name]}`} />;
}

/** A line of a chart: what is joined of it, its error bars, a mark for each point, and its name at its end. */
export function Series<P extends Place>(props: {
  points: readonly P[];
  /** Runs of points that a line joins; all of them where it has no gaps. */
  runs?: readonly (readonly Place[])[];
  look: string;
  dash?: string;
  name?: string;
  /** What stands at a point: nothing, one shape for all, or something for each. */
  shape?: ShapeName | ((point: P) => ComponentChildren);
}) {
  const { points, runs = [points], shape } = props;
  const end = points.at(-1);
  return (
    <g class={props.look}>
      {runs.map((run, i) => (
        <polyline key={i} points={run.map((p) => `${p.x},${p.y}`).join(" ")} stroke-dasharray={props.dash ?? ""} />
      ))}
      {points.map((p, i) => {
        const bar = bars(p);
        return (
          <g key={i}>
            <title>{p.text}</title>
            {bar ? <path class="chart-bar" d={bar} /> : null}
            {typeof shape === "string" ? <Shape name={shape} x={p.x} y={p.y} hollow={p.unsure} /> : shape?.(p)}
          </g>
        );
      })}
      {props.name && end ? (
        <text class="chart-tick" x={(end.right ?? end.x) + 8} y={end.y + 4}>
          {props.name}
        </text>
      ) : null}
    </g>
  );
}

function bars({ x, y, top = y, bottom = y, left = x, right = x }: Place): string {
  const cap = (at: number) => `M${x - 3},${at}h6`;
  return `${bottom > top ? `M${x},${top}V${bottom}${cap(top)}${cap(bottom)}` : ""}${right > left ? `M${left},${y}H${right}` : ""}`;
}
