// SPDX-License-Identifier: Apache-2.0
import { useId, useLayoutEffect, useState } from "preact/hooks";
import { byRate, plotLoad } from "../draw/load-plot";
import { intervalText } from "../lib/facts";
import type { LoadCurveData, LoadPointData, Spread } from "../lib/report-data.gen";
import { count, latency, percent, rate, significant } from "../lib/units";
import { useApp } from "./context";
import { usePlotPlace } from "./use-plot";
import { Wide } from "./Wide";

const PRINT_WIDTH = 640;

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

function Chart({ points, curve, phase }: { points: readonly LoadPointData[]; curve: LoadCurveData; phase: string }) {
  const state = useApp();
  const [into, width] = usePlotPlace();
  const dark = state.dark.value;
  const available = state.printing.value ? Math.min(width, PRINT_WIDTH) : Math.min(width, 900);
  useLayoutEffect(() => {
    const element = into.current;
    if (!element || available < 80) return;
    const plot = plotLoad(element, points, {
      width: available,
      height: 280,
      dark,
      limit: curve.limit_ns,
      quantity: curve.quantity,
      latency,
      count,
    });
    return () => plot.destroy();
  }, [points, available, dark]);
  const what = phase ? `${phase}: response` : "Response";
  return (
    <div
      ref={into}
      class="plot load-plot"
      role="img"
      aria-label={`${what} time on a logarithmic scale against I/Os per second, mean and percentiles at ${points.length} loads with 95 % intervals. The numbers follow as a table.`}
    />
  );
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
