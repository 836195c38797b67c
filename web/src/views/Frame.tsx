// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

export interface Box {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface Tick {
  at: number;
  text: string;
}

/** Pixels that the label of a tick of x takes. */
const LABEL = 48;

/** Axes, grid and ticks of a chart that is drawn as SVG; of the labels of x those that have room. */
export function Frame(props: {
  box: Box;
  label: string;
  /** Empty: none is written. */
  xName: string;
  xTicks: readonly Tick[];
  yTicks: readonly Tick[];
  children: ComponentChildren;
}) {
  const { box } = props;
  const [right, bottom] = [box.width - box.right, box.height - box.bottom];
  const roomy: Tick[] = [];
  for (const tick of props.xTicks) if (tick.at >= (roomy.at(-1)?.at ?? -LABEL) + LABEL) roomy.push(tick);
  return (
    <svg viewBox={`0 0 ${box.width} ${box.height}`} role="img" aria-label={props.label}>
      {props.yTicks.map((tick, i) => (
        <g key={i}>
          <line class="chart-grid" x1={box.left} x2={right} y1={tick.at} y2={tick.at} />
          <text class="chart-tick" x={box.left - 6} y={tick.at + 4} text-anchor="end">
            {tick.text}
          </text>
        </g>
      ))}
      {roomy.map((tick, i) => {
        const cut = tick.at + 3 * tick.text.length > box.width;
        return (
          <text
            key={i}
            class="chart-tick"
            x={cut ? box.width : tick.at}
            y={bottom + 16}
            text-anchor={cut ? "end" : "middle"}
          >
            {tick.text}
          </text>
        );
      })}
      {props.xName ? (
        <text class="chart-tick" x={(box.left + right) / 2} y={box.height - 6} text-anchor="middle">
          {props.xName}
        </text>
      ) : null}
      {props.children}
    </svg>
  );
}
