// SPDX-License-Identifier: Apache-2.0
import { useId, useState } from "preact/hooks";
import { type Atlas, type Point, slotAt } from "../lib/atlas";
import { dot, panel } from "../lib/chart";
import { axisLabel, shortLevel } from "../lib/labels";
import { placeOfPercent } from "../lib/latencies";
import type { Panel } from "../lib/report-data.gen";
import { count, type UnitSystem, whole } from "../lib/units";
import { CellChooser } from "./CellChooser";
import { Chart } from "./Charts";
import { useApp } from "./context";
import { axisOptions, Select } from "./Select";

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
  const along =
    choice ??
    LOADS.map((name) => atlas.axes.findIndex((axis) => axis.name === name)).find((a) => state.live.includes(a)) ??
    -1;
  if (!point) return <p class="soft">Choose a cell of the map first.</p>;
  const lines = linesAlong(atlas, point, along, state.units.value);
  const growth = growthOf(atlas, lines, along);
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
          {atlas.data.latency_curves.left_out
            ? "This campaign has too many cells for its page to hold their percentiles."
            : "This cell has no latency percentiles: it was not measured here, or its source does not give them."}
        </p>
      ) : (
        <div class="charts">
          <Chart chart={percentilesOf(atlas, lines)} chosen={lines.find((line) => line.chosen)?.label ?? ""} />
          {growth ? <Chart chart={growth} /> : null}
        </div>
      )}
    </div>
  );
}

/** The pinned cell and its neighbours along an axis, those that have percentiles. */
function linesAlong(atlas: Atlas, point: Point, along: number, system: UnitSystem): Line[] {
  const axis = atlas.axes[along];
  const levels = axis ? axis.levels.map((_, level) => level) : [point[along] ?? 0];
  return levels.flatMap((level) => {
    const at = point.map((old, a) => (a === along ? level : old));
    const row = slotAt(atlas, at) - 1;
    if (!atlas.latencies.value.curves.get(row)?.latencies.some(Number.isFinite)) return [];
    const label = axis ? shortLevel(axis, axis.levels[level], system) : "this cell";
    return [{ label, row, chosen: !axis || level === point[along] }];
  });
}

function percentilesOf({ latencies, data }: Atlas, lines: readonly Line[]): Panel {
  const { percents, curves } = latencies.value;
  const chosen = curves.get(lines.find((line) => line.chosen)?.row ?? -1);
  const beyond = `A percentile is given where at least ${data.latency_curves.fewest_beyond} I/Os lie beyond it.`;
  return panel({
    title: "Latency percentiles",
    series: lines.map(({ label, row }) => ({
      name: label,
      look: "",
      dots: percents
        .map((percent, i) => dot(placeOfPercent(percent), curves.get(row)?.latencies[i] ?? Number.NaN))
        .filter(({ value }) => Number.isFinite(value)),
    })),
    ticks: percents.map((percent) => [placeOfPercent(percent), `${percent}%`]),
    x_name: "Percentile of the I/Os",
    note: chosen ? `Of ${whole(chosen.nIos)} I/Os of this cell. ${beyond}` : beyond,
  });
}

/** Mean and p99 against what the load achieves. */
function growthOf({ axes, values }: Atlas, lines: readonly Line[], along: number): Panel | null {
  const axis = axes[along];
  const points = lines
    .map(({ label, row }) => ({
      label,
      iops: values.at("iops", row),
      mean: values.at("lat_mean_ns", row),
      p99: values.at("lat_p99_ns", row),
    }))
    .filter((p) => p.iops > 0 && p.mean > 0);
  if (!axis || !LOADS.includes(axis.name) || points.length < 2) return null;
  return panel({
    title: `Latency against load, along ${axisLabel(axis).toLowerCase()}`,
    series: (["mean", "p99"] as const).map((name) => ({
      name,
      look: "",
      dots: points.filter((p) => p[name] > 0).map((p) => dot(p.iops, p[name])),
    })),
    ticks: points
      .map(({ label, iops }): [number, string] => [iops, `${label}: ${count(iops)}`])
      .sort((a, b) => a[0] - b[0]),
    x_name: `${axisLabel(axis)}: I/Os per second`,
    x_scale: "log",
  });
}
