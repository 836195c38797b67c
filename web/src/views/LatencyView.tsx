// SPDX-License-Identifier: Apache-2.0
import { useId, useState } from "preact/hooks";
import { type Atlas, type Point, slotAt } from "../lib/atlas";
import { axisLabel, axisTitle, shortLevel } from "../lib/labels";
import { placeOfPercent } from "../lib/latencies";
import { makeScale, placedTicks, type Scale } from "../lib/scale";
import { count, latency, whole } from "../lib/units";
import { CellChooser } from "./CellChooser";
import { useApp } from "./context";
import { type Box, Frame } from "./Frame";
import { Series } from "./Series";
import { Wide } from "./Wide";

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
        <select id={id} value={String(along)} onChange={(e) => setChoice(Number(e.currentTarget.value))}>
          <option value="-1">nothing: this cell alone</option>
          {state.live.map((a) => {
            const axis = atlas.axes[a];
            return axis ? (
              <option key={a} value={String(a)}>
                {axisTitle(axis)}
              </option>
            ) : null;
          })}
        </select>
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

/** Places on a logarithmic scale of latency, and its ticks. */
function latencyAxis(values: readonly number[]): { scale: Scale; py: (ns: number) => number } {
  const scale = makeScale("log", Math.min(...values) / 1.15, Math.max(...values) * 1.15);
  return { scale, py: (ns) => BOX.top + (BOX.height - BOX.top - BOX.bottom) * (1 - scale.place(ns)) };
}

function Percentiles({ lines }: { lines: readonly Line[] }) {
  const { percents, curves } = useApp().atlas.latencies.value;
  const known = lines.map((line) => ({ ...line, ns: [...(curves.get(line.row)?.latencies ?? [])] }));
  const all = known.flatMap((line) => line.ns.filter(Number.isFinite));
  if (all.length === 0) return null;
  const { scale, py } = latencyAxis(all);
  const last = placeOfPercent(percents.at(-1) ?? 99.99);
  const px = (percent: number) =>
    BOX.left + ((BOX.width - BOX.left - BOX.right) * placeOfPercent(percent)) / (last || 1);
  const shown = percents.filter((p) => [1, 50, 90, 99, 99.9, 99.99].includes(p));
  return (
    <figure class="chart">
      <figcaption>
        <h3>Latency percentiles</h3>
      </figcaption>
      <Frame
        box={BOX}
        label={`Latency at percentiles ${percents[0]} to ${percents.at(-1)} of ${lines.length} cells. The numbers follow as a table.`}
        xName="Percentile of the I/Os"
        xTicks={shown.map((p) => ({ at: px(p), text: String(p) }))}
        yTicks={placedTicks(scale, 10, 6, py, latency)}
      >
        {known.map((line) => {
          const points = line.ns.flatMap((ns, i) =>
            Number.isFinite(ns)
              ? [{ x: px(percents[i] ?? 50), y: py(ns), text: `${line.label}, ${percents[i]}%: ${latency(ns)}` }]
              : [],
          );
          return (
            <Series
              key={line.label}
              look={line.chosen ? "chart-line" : "chart-thin"}
              name={line.label}
              points={points}
              shape={(p) => <circle cx={p.x} cy={p.y} r={line.chosen ? 3.2 : 2} />}
            />
          );
        })}
      </Frame>
    </figure>
  );
}

/** Mean and p99 against what the load achieves. */
function Growth({ lines, along }: { lines: readonly Line[]; along: number }) {
  const { atlas } = useApp();
  const axis = atlas.axes[along];
  const points = lines.map((line) => ({
    ...line,
    iops: atlas.values.at("iops", line.row),
    mean: atlas.values.at("lat_mean_ns", line.row),
    p99: atlas.values.at("lat_p99_ns", line.row),
  }));
  const known = points.filter((p) => p.iops > 0 && p.mean > 0);
  if (!axis || !LOADS.includes(axis.name) || known.length < 2) return null;
  const { scale, py } = latencyAxis(known.flatMap((p) => [p.mean, p.p99]).filter((v) => v > 0));
  const rates = known.map((p) => p.iops);
  const across = makeScale("log", Math.min(...rates) / 1.15, Math.max(...rates) * 1.15);
  const px = (iops: number) => BOX.left + (BOX.width - BOX.left - BOX.right) * across.place(iops);
  return (
    <figure class="chart">
      <figcaption>
        <h3>Latency against load, along {axisLabel(axis).toLowerCase()}</h3>
      </figcaption>
      <Frame
        box={BOX}
        label={`Mean and 99th percentile of latency against I/Os per second for ${known.length} values of ${axisLabel(axis)}. The numbers follow as a table.`}
        xName="I/Os per second"
        xTicks={placedTicks(across, 10, 6, px, count)}
        yTicks={placedTicks(scale, 10, 6, py, latency)}
      >
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
      </Frame>
    </figure>
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
      <Wide>
        <table class="plain">
          <thead>
            <tr>
              <th>{axis ? axisLabel(axis) : "Cell"}</th>
              <th>I/Os</th>
              {percents.map((p) => (
                <th key={p}>{p}%</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line) => (
              <tr key={line.label}>
                <th scope="row">{line.label}</th>
                <td>{whole(curves.get(line.row)?.nIos ?? 0)}</td>
                {percents.map((p, i) => (
                  <td key={p}>{latency(curves.get(line.row)?.latencies[i] ?? Number.NaN)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="soft">A percentile is told where at least {fewest} I/Os lie beyond it.</p>
    </details>
  );
}
