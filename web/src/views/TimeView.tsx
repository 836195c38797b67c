// SPDX-License-Identifier: Apache-2.0
import { type Course, longestStallMs, NO_LATENCIES } from "../lib/latencies";
import { makeScale, placedTicks } from "../lib/scale";
import { duration, latency, rate, type UnitSystem } from "../lib/units";
import { CellChooser } from "./CellChooser";
import { useApp } from "./context";
import { type Box, Frame } from "./Frame";

const BOX: Box = { width: 1000, height: 104, left: 76, right: 14, top: 6, bottom: 22 };

/** The visits of the pinned cell, each as a strip over time on one shared scale. */
export function TimeView() {
  const state = useApp();
  const { atlas } = state;
  const row = state.pinnedSlot.value - 1;
  const courses = atlas.latencies.value.courses.get(row) ?? [];
  const byLatency = state.quantityId.value === "lat_mean" || state.quantityId.value === "lat_p99";
  const scales: Scales = {
    byLatency,
    most: Math.max(...courses.flatMap((c) => (byLatency ? c.latencies : c.rates))),
    longestMs: Math.max(...courses.map((c) => c.endMs.at(-1) ?? 0)),
    system: state.units.value,
  };
  return (
    <div class="time">
      <CellChooser />
      {atlas.latencies.value === NO_LATENCIES ? null : courses.length === 0 ? (
        <p class="soft">
          {atlas.data.time_courses.left_out
            ? "This campaign has too many visits for its page to hold their courses."
            : "This cell has no visits to show: it was not measured here."}
        </p>
      ) : (
        <>
          <p class="soft">
            {byLatency ? "Mean latency" : "Throughput"} of each visit, over the seconds since its load began. Visits
            stand in the order in which they ran. Grey is warm-up that was cut. Red is a stall: nothing completed.
          </p>
          {courses.map((course, i) => (
            <Strip key={i} course={course} number={i + 1} scales={scales} />
          ))}
        </>
      )}
    </div>
  );
}

/** What all strips share. */
interface Scales {
  byLatency: boolean;
  most: number;
  longestMs: number;
  system: UnitSystem;
}

function Strip({ course, number, scales }: { course: Course; number: number; scales: Scales }) {
  const { byLatency, most, longestMs, system } = scales;
  const format = (v: number) => (byLatency ? latency(v) : rate(v, system));
  const scale = makeScale("linear", 0, most * 1.05);
  const [width, height] = [BOX.width - BOX.left - BOX.right, BOX.height - BOX.top - BOX.bottom];
  const px = (ms: number) => BOX.left + (width * ms) / (longestMs || 1);
  const py = (v: number) => BOX.top + height * (1 - scale.place(v));
  const values = byLatency ? course.latencies : course.rates;
  const begin = (i: number) => course.endMs[i - 1] ?? 0;
  const steps = values.map((v, i) => `${px(begin(i))},${py(v)} ${px(course.endMs[i] ?? 0)},${py(v)}`).join(" ");
  const stall = longestStallMs(course);
  const told = [
    `Visit ${number}`,
    `began at ${duration(course.startedSeconds)}`,
    course.purpose === "fresh" ? "made again for a cell that was named" : "",
    course.discarded ? `does not count: ${course.discarded}` : course.verdict,
    course.cutMs ? `${duration(course.cutMs / 1000)} of warm-up cut` : "",
    stall ? `stalled for ${duration(stall / 1000)}` : "",
  ].filter(Boolean);
  const time = makeScale("linear", 0, longestMs / 1000);
  return (
    <figure class={course.discarded ? "strip strip-discarded" : "strip"}>
      <figcaption>{told.join(" · ")}</figcaption>
      <Frame
        box={BOX}
        label={`${told.join(", ")}: from ${format(Math.min(...values))} to ${format(Math.max(...values))}`}
        xName=""
        xTicks={placedTicks(
          time,
          10,
          8,
          (s) => px(s * 1000),
          (s) => String(Number(s.toFixed(3))),
        )}
        yTicks={placedTicks(scale, byLatency || system === "si" ? 10 : 1024, 3, py, format)}
      >
        {course.cutMs ? (
          <rect class="strip-cut" x={px(0)} y={BOX.top} width={px(course.cutMs) - px(0)} height={height} />
        ) : null}
        {course.rates.map((moved, i) =>
          moved > 0 ? null : (
            <rect
              key={course.endMs[i]}
              class="strip-stall"
              x={px(begin(i))}
              y={BOX.top}
              width={px(course.endMs[i] ?? 0) - px(begin(i))}
              height={height}
            />
          ),
        )}
        <g class="chart-line">
          <polyline points={steps} />
        </g>
      </Frame>
    </figure>
  );
}
