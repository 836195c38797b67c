// SPDX-License-Identifier: Apache-2.0
import { useId, useState } from "preact/hooks";
import { intervalText } from "../lib/facts";
import type { LoadCurveData, LoadPointData, Spread } from "../lib/report-data.gen";
import { makeScale, placedTicks } from "../lib/scale";
import { count, latency, percent, rate, significant } from "../lib/units";
import { useApp } from "./context";
import { type Box, Frame } from "./Frame";
import { Series } from "./Series";
import { Wide } from "./Wide";

/** Several streams at once: response time against load for each target, and what each stream did. */
export function LoadCurves() {
  const curves = useApp().atlas.data.load_curves;
  const paced = curves.some((curve) => curve.points.some((point) => point.percent !== null));
  return curves.length === 0 ? null : (
    <section id="load-curves" aria-labelledby="load-curves-title">
      <h2 id="load-curves-title">{paced ? "Response time against load" : "Several streams at once"}</h2>
      {curves.map((curve) => (
        <Curve key={curve.target} curve={curve} several={curves.length > 1} />
      ))}
    </section>
  );
}

function Curve({ curve, several }: { curve: LoadCurveData; several: boolean }) {
  const paced = curve.points.filter((point) => point.percent !== null);
  const phases = [...new Set(paced.map((point) => point.phase))];
  const power = curve.points.some((point) => point.watts !== null);
  return (
    <>
      {several ? <h3>{curve.target}</h3> : null}
      {curve.sizing ? <p>At a fixed request rate: {curve.sizing}</p> : null}
      {phases.map((phase) => {
        const points = byRate(paced.filter((point) => point.phase === phase));
        return points.length > 1 ? <Chart key={phase} points={points} curve={curve} phase={phase} /> : null;
      })}
      {curve.latency_note ? (
        <p class="soft">
          Open loop: I/Os arrive whether or not earlier ones are done. Latency is a {curve.latency_note}.{" "}
          {hasBacklog(curve)
            ? "“Behind” counts the I/Os that were due and not done at the end of a visit; chance alone explains some. "
            : ""}
          An open circle marks a load at which the generator fell behind.
        </p>
      ) : null}
      <Points curve={curve} power={power} />
      {curve.power ? (
        <p>
          Power: {curve.power}
          {curve.idle_watts === null ? "" : `; idle ${significant(curve.idle_watts)} W`}
          {curve.idle_bytes_per_watt === null ? "" : `, ${significant(curve.idle_bytes_per_watt / 1e9)} GB/W`}.
        </p>
      ) : null}
      {curve.points.some((point) => point.streams.length > 0) ? <Streams curve={curve} /> : null}
    </>
  );
}

const BOX: Box = { width: 720, height: 280, left: 72, right: 46, top: 10, bottom: 40 };
const LINES = [
  { key: "lat_mean_ns", label: "mean", dash: "" },
  { key: "lat_p95_ns", label: "p95", dash: "6 3" },
  { key: "lat_p99_ns", label: "p99", dash: "2 3" },
] as const;

/** Mean, p95 and p99 against what was achieved. An open circle: the generator fell behind, so its value grows with time. */
function Chart({ points, curve, phase }: { points: readonly LoadPointData[]; curve: LoadCurveData; phase: string }) {
  const told = LINES.map((line) => ({
    ...line,
    points: points.flatMap((p) => (p[line.key] && p.iops ? [{ ...p, at: p[line.key] as Spread, rate: p.iops }] : [])),
  }));
  const ends = (spread: Spread) => [spread.value, spread.low ?? spread.value, spread.high ?? spread.value];
  const values = [...told.flatMap((line) => line.points.flatMap((p) => ends(p.at))), curve.limit_ns ?? 0].filter(
    (v) => v > 0,
  );
  const scale = makeScale("log", Math.min(...values) / 1.3, Math.max(...values) * 1.4);
  const across = makeScale(
    "linear",
    0,
    1.04 * Math.max(...told.flatMap((line) => line.points.flatMap((p) => ends(p.rate))), 1),
  );
  const px = (iops: number) => BOX.left + (BOX.width - BOX.left - BOX.right) * across.place(iops);
  const py = (ns: number) => BOX.top + (BOX.height - BOX.top - BOX.bottom) * (1 - scale.place(ns));
  const place = (p: LoadPointData & { at: Spread; rate: Spread }) => ({
    overloaded: p.overloaded,
    x: px(p.rate.value),
    y: py(p.at.value),
    text: `${p.name}: ${count(p.rate.value)} IOPS, ${latency(p.at.value)}`,
    ...(p.at.low !== null && p.at.high !== null ? { top: py(p.at.high), bottom: py(p.at.low) } : {}),
    ...(p.rate.low !== null && p.rate.high !== null ? { left: px(p.rate.low), right: px(p.rate.high) } : {}),
  });
  const what = phase ? `${phase}: response` : "Response";
  return (
    <figure class="chart load-plot">
      <Frame
        box={BOX}
        label={`${what} time on a logarithmic scale against I/Os per second, mean and percentiles at ${points.length} loads with 95 % intervals. The numbers follow as a table.`}
        xName="I/Os per second, achieved"
        xTicks={placedTicks(across, 10, 6, px, count)}
        yTicks={placedTicks(scale, 10, 5, py, latency)}
      >
        {curve.limit_ns === null ? null : (
          <>
            <line
              class="chart-bound"
              x1={BOX.left}
              x2={BOX.width - BOX.right}
              y1={py(curve.limit_ns)}
              y2={py(curve.limit_ns)}
            />
            <text class="chart-bound-name" x={BOX.left + 6} y={py(curve.limit_ns) - 4}>
              limit of the {curve.quantity}: {latency(curve.limit_ns)}
            </text>
          </>
        )}
        {told.map((line) => (
          <Series
            key={line.key}
            look="chart-line"
            dash={line.dash}
            name={line.label}
            points={line.points.map(place)}
            shape={(p) => <circle class={p.overloaded ? "chart-hollow" : ""} cx={p.x} cy={p.y} r={3.4} />}
          />
        ))}
      </Frame>
    </figure>
  );
}

/** Points in the order of what was achieved. */
function byRate(points: readonly LoadPointData[]): LoadPointData[] {
  return points.filter((p) => p.iops !== null).sort((a, b) => (a.iops?.value ?? 0) - (b.iops?.value ?? 0));
}

function hasBacklog(curve: LoadCurveData): boolean {
  return curve.points.some((point) => point.behind_ios !== null);
}

/** What a fixed rate did to the latency that is limited. */
const STATES: Record<string, string> = { within: "safe", borderline: "borderline", over: "over the limit" };

function Points({ curve, power }: { curve: LoadCurveData; power: boolean }) {
  const system = useApp().units.value;
  const paced = curve.points.some((point) => point.offered_iops !== null);
  const behind = hasBacklog(curve);
  const middle = curve.points.some((point) => point.lat_p95_ns !== null);
  const limited = `lat_${curve.quantity}_ns` as const;
  const told = (spread: Spread | null) => (spread === null ? "–" : latency(spread.value));
  return (
    <Wide>
      <table class="plain">
        <thead>
          <tr>
            <th>Load</th>
            <th>Loop</th>
            {paced ? <th class="num">Offered</th> : null}
            <th class="num">Achieved</th>
            <th class="num">Throughput</th>
            <th class="num">Mean</th>
            {middle ? <th class="num">p95</th> : null}
            <th class="num">p99</th>
            <th class="num">95 % interval of the {curve.quantity}</th>
            {behind ? <th class="num">Behind / chance</th> : null}
            {power ? (
              <>
                <th class="num">W</th>
                <th class="num">IOPS/W</th>
                <th class="num">MB/s/W</th>
              </>
            ) : null}
            <th class="num">Visits</th>
            <th>Verdict</th>
          </tr>
        </thead>
        <tbody>
          {curve.points.map((point) => (
            <tr key={point.name}>
              <th scope="row">{point.name}</th>
              <td>{point.loop}</td>
              {paced ? <td class="num">{count(point.offered_iops ?? Number.NaN)}</td> : null}
              <td class="num">{count(point.iops?.value ?? Number.NaN)}</td>
              <td class="num">{rate(point.bw_bytes_per_s?.value ?? Number.NaN, system)}</td>
              <td class="num">{told(point.lat_mean_ns)}</td>
              {middle ? <td class="num">{told(point.lat_p95_ns)}</td> : null}
              <td class="num">{told(point.lat_p99_ns)}</td>
              <td class="num">
                {intervalText(point[limited]?.low ?? Number.NaN, point[limited]?.high ?? Number.NaN, latency) || "–"}
              </td>
              {behind ? (
                <td class="num">
                  {point.behind_ios === null || point.chance_ios === null
                    ? "–"
                    : `${Math.round(point.behind_ios)} / ${Math.round(point.chance_ios)}`}
                </td>
              ) : null}
              {power ? (
                <>
                  <td class="num">{significant(point.watts ?? Number.NaN)}</td>
                  <td class="num">{significant(point.iops_per_watt ?? Number.NaN)}</td>
                  <td class="num">{significant((point.bytes_per_s_per_watt ?? Number.NaN) / 1e6)}</td>
                </>
              ) : null}
              <td class="num">{point.n_visits}</td>
              <td>{point.overloaded ? "overloaded" : (STATES[point.state] ?? point.verdict)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Streams({ curve }: { curve: LoadCurveData }) {
  const system = useApp().units.value;
  const id = useId();
  const [chosen, setChosen] = useState(0);
  const point = curve.points[Math.min(chosen, curve.points.length - 1)];
  if (!point) return null;
  return (
    <>
      <h3 id={`${id}-streams`}>
        Streams at{" "}
        <select
          aria-label="Load point of the table of streams"
          value={String(chosen)}
          onChange={(e) => setChosen(Number(e.currentTarget.value))}
        >
          {curve.points.map((each, i) => (
            <option key={each.name} value={String(i)}>
              {each.name}
            </option>
          ))}
        </select>
      </h3>
      <Wide>
        <table class="plain" aria-labelledby={`${id}-streams`}>
          <thead>
            <tr>
              <th>Stream</th>
              <th>Direction</th>
              <th class="num">Share</th>
              <th class="num">Offered</th>
              <th class="num">Achieved</th>
              <th class="num">Throughput</th>
              <th class="num">Mean</th>
              <th class="num">p95</th>
              <th class="num">p99</th>
            </tr>
          </thead>
          <tbody>
            {point.streams.map((stream) => (
              <tr key={`${stream.stream} ${stream.direction}`}>
                <th scope="row">{stream.stream}</th>
                <td>{stream.direction}</td>
                <td class="num">{percent(stream.share)}</td>
                <td class="num">{count(stream.offered_iops ?? Number.NaN)}</td>
                <td class="num">{count(stream.iops)}</td>
                <td class="num">{rate(stream.bw_bytes_per_s, system)}</td>
                <td class="num">{latency(stream.lat_mean_ns ?? Number.NaN)}</td>
                <td class="num">{latency(stream.lat_p95_ns ?? Number.NaN)}</td>
                <td class="num">{latency(stream.lat_p99_ns ?? Number.NaN)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </>
  );
}
