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
  text: string;
}

/** A line of a chart: what is joined of it, its error bars, a mark for each point, and its name at its end. */
export function Series<P extends Place>(props: {
  points: readonly P[];
  /** Runs of points that a line joins; all of them where it has no gaps. */
  runs?: readonly (readonly Place[])[];
  look: string;
  dash?: string;
  name?: string;
  shape: (point: P) => ComponentChildren;
}) {
  const { points, runs = [points] } = props;
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
            {props.shape(p)}
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
