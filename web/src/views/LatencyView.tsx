// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { type Atlas, type Point, slotAt } from "../lib/atlas";
import { axisLabel, shortLevel } from "../lib/labels";
import { placeOfPercent } from "../lib/latencies";
import { makeScale, placedTicks, ticks } from "../lib/scale";
import { count, latency, whole } from "../lib/units";
import { CellChooser } from "./CellChooser";
import { useApp } from "./context";
import { type Box, Frame } from "./Frame";
import { axisOptions, Select } from "./Select";
import { Series } from "./Series";
import { WideTable } from "./Table";

const BOX: Box = { width: 520, height: 320, left: 66, right: 58, top: 12, bottom: 40 };
/** Axes along which the load grows, in the order in which they are looked for. */
const LOADS: readonly string[] = ["iodepth", "numjobs"];

interface Line {
  label: string;
  row: number;
  chosen: boolean;
}

/** How latency is spread over the I/Os of the pinned cell and of its neighbours, and how it grows with load. */
export function LatencyView() {
  const state = useApp();
  const id = useId();
  const [choice, setChoice] = useState<number | null>(null);
  const { atlas } = state;
  const point = state.pinnedPoint.value;
  const { data } = atlas;
  const along =
    choice ??
    LOADS.map((name) => atlas.axes.findIndex((axis) => axis.name === name)).find((a) => state.live.includes(a)) ??
    -1;
  if (!point) return <p class="soft">Choose a cell of the map first.</p>;
  const lines = linesAlong(atlas, point, along, state.units.value);
  return (
    <div class="latency">
      <CellChooser />
      <div class="slice-head">
        <label for={id}>Compare along</label>
        <Select
          id={id}
          value={along}
          options={[[-1, "nothing: this cell alone"], ...axisOptions(state)]}
          onChange={setChoice}
        />
      </div>
      {lines.length === 0 ? (
        <p class="soft">
          {data.latency_curves.left_out
            ? "This campaign has too many cells for its page to hold their percentiles."
            : "This cell has no latency percentiles: it was not measured here, or its source does not give them."}
        </p>
      ) : (
        <div class="charts">
          <Percentiles lines={lines} />
          <Growth lines={lines} along={along} />
        </div>
      )}
      {lines.length > 0 ? <Numbers lines={lines} along={along} /> : null}
    </div>
  );
}

/** The pinned cell and its neighbours along an axis, those that have percentiles. */
function linesAlong(atlas: Atlas, point: Point, along: number, system: "iec" | "si"): Line[] {
  const axis = atlas.axes[along];
  const levels = axis ? axis.levels.map((_, level) => level) : [point[along] ?? 0];
  return levels.flatMap((level) => {
    const at = point.map((old, a) => (a === along ? level : old));
    const row = slotAt(atlas, at) - 1;
    if (!atlas.latencies.value.curves.has(row)) return [];
    const label = axis ? shortLevel(axis, axis.levels[level], system) : "this cell";
    return [{ label, row, chosen: !axis || level === point[along] }];
  });
}

/** Latencies, on a logarithmic scale, over something. place: where that lies across the chart, from 0 to 1. */
function Chart(props: {
  title: string;
  label: string;
  xName: string;
  place: (x: number) => number;
  xTicks: readonly (readonly [x: number, text: string])[];
  latencies: readonly number[];
  children: (px: (x: number) => number, py: (ns: number) => number) => ComponentChildren;
}) {
  const scale = makeScale("log", Math.min(...props.latencies) / 1.15, Math.max(...props.latencies) * 1.15);
  const px = (x: number) => BOX.left + (BOX.width - BOX.left - BOX.right) * props.place(x);
  const py = (ns: number) => BOX.top + (BOX.height - BOX.top - BOX.bottom) * (1 - scale.place(ns));
  return (
    <figure class="chart">
      <figcaption>
        <h3>{props.title}</h3>
      </figcaption>
      <Frame
        box={BOX}
        label={`${props.label}. The numbers follow as a table.`}
        xName={props.xName}
        xTicks={props.xTicks.map(([x, text]) => ({ at: px(x), text }))}
        yTicks={placedTicks(scale, 10, 6, py, latency)}
      >
        {props.children(px, py)}
      </Frame>
    </figure>
  );
}

function Percentiles({ lines }: { lines: readonly Line[] }) {
  const { percents, curves } = useApp().atlas.latencies.value;
  const known = lines.map((line) => {
    const all = [...(curves.get(line.row)?.latencies ?? [])].map((ns, i) => ({ ns, percent: percents[i] ?? 50 }));
    return { ...line, told: all.filter(({ ns }) => Number.isFinite(ns)) };
  });
  const latencies = known.flatMap(({ told }) => told.map(({ ns }) => ns));
  if (latencies.length === 0) return null;
  const last = placeOfPercent(percents.at(-1) ?? 99.99) || 1;
  return (
    <Chart
      title="Latency percentiles"
      label={`Latency at percentiles ${percents[0]} to ${percents.at(-1)} of ${lines.length} cells`}
      xName="Percentile of the I/Os"
      place={(percent) => placeOfPercent(percent) / last}
      xTicks={[1, 50, 90, 99, 99.9, 99.99].filter((p) => percents.includes(p)).map((p) => [p, String(p)])}
      latencies={latencies}
    >
      {(px, py) =>
        known.map(({ label, chosen, told }) => (
          <Series
            key={label}
            look={chosen ? "chart-line" : "chart-thin"}
            name={label}
            points={told.map(({ ns, percent }) => ({
              x: px(percent),
              y: py(ns),
              text: `${label}, ${percent}%: ${latency(ns)}`,
            }))}
            shape={(p) => <circle cx={p.x} cy={p.y} r={chosen ? 3.2 : 2} />}
          />
        ))
      }
    </Chart>
  );
}

/** Mean and p99 against what the load achieves. */
function Growth({ lines, along }: { lines: readonly Line[]; along: number }) {
  const { axes, values } = useApp().atlas;
  const axis = axes[along];
  const points = lines.map((line) => ({
    ...line,
    iops: values.at("iops", line.row),
    mean: values.at("lat_mean_ns", line.row),
    p99: values.at("lat_p99_ns", line.row),
  }));
  const known = points.filter((p) => p.iops > 0 && p.mean > 0);
  if (!axis || !LOADS.includes(axis.name) || known.length < 2) return null;
  const rates = known.map((p) => p.iops);
  const across = makeScale("log", Math.min(...rates) / 1.15, Math.max(...rates) * 1.15);
  return (
    <Chart
      title={`Latency against load, along ${axisLabel(axis).toLowerCase()}`}
      label={`Mean and 99th percentile of latency against I/Os per second for ${known.length} values of ${axisLabel(axis)}`}
      xName="I/Os per second"
      place={across.place}
      xTicks={ticks(across, 10, 6).map((rate) => [rate, count(rate)])}
      latencies={known.flatMap((p) => [p.mean, p.p99]).filter((v) => v > 0)}
    >
      {(px, py) => (
        <>
          {(["mean", "p99"] as const).map((key) => (
            <Series
              key={key}
              look="chart-line"
              dash={key === "mean" ? "" : "6 3"}
              name={key}
              points={known
                .filter((p) => p[key] > 0)
                .map((p) => ({
                  ...p,
                  x: px(p.iops),
                  y: py(p[key]),
                  text: `${p.label}: ${count(p.iops)} IOPS, ${key} ${latency(p[key])}`,
                }))}
              shape={(p) => <circle cx={p.x} cy={p.y} r={p.chosen ? 4.6 : 3} />}
            />
          ))}
          {known.map((p) => (
            <text key={p.label} class="chart-tick" x={px(p.iops)} y={py(p.mean) + 18} text-anchor="middle">
              {p.label}
            </text>
          ))}
        </>
      )}
    </Chart>
  );
}

function Numbers({ lines, along }: { lines: readonly Line[]; along: number }) {
  const { atlas } = useApp();
  const { percents, curves } = atlas.latencies.value;
  const axis = atlas.axes[along];
  const fewest = atlas.data.latency_curves.fewest_beyond;
  return (
    <details>
      <summary>Numbers of these curves</summary>
      <WideTable
        head={[axis ? axisLabel(axis) : "Cell", "I/Os", ...percents.map((p) => `${p}%`)]}
        rows={lines.map(({ label, row }) => [
          label,
          whole(curves.get(row)?.nIos ?? 0),
          ...percents.map((_, i) => latency(curves.get(row)?.latencies[i] ?? Number.NaN)),
        ])}
      />
      <p class="soft">A percentile is told where at least {fewest} I/Os lie beyond it.</p>
    </details>
  );
}
