// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import { BOX, drawChart, pointText, valueText } from "../lib/chart";
import type { Chart as ChartData, Table as TableData } from "../lib/report-data.gen";
import { useApp } from "./context";
import { Frame } from "./Frame";
import { Series } from "./Series";
import { Wide } from "./Wide";

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const [RIGHT, BOTTOM] = [BOX.width - BOX.right, BOX.height - BOX.bottom];

/** Line charts and tables that a campaign brings beside its map: results above it (a fixed-work sequence, two tools), how it was measured below. */
export function Charts({ afterMap = false }: { afterMap?: boolean }) {
  const { data } = useApp().atlas;
  const charts = afterMap ? [] : data.charts;
  const tables = data.tables.filter((table) => table.after_map === afterMap);
  if (charts.length + tables.length === 0) return null;
  const name = afterMap ? "why" : "charts";
  return (
    <section id={name} aria-labelledby={`${name}-title`}>
      <h2 id={`${name}-title`}>{afterMap ? "Why" : "Charts"}</h2>
      <div class="charts">
        {charts.map((chart) => (
          <Chart key={chart.title} chart={chart} />
        ))}
      </div>
      {tables.map((table) => (
        <Texts key={table.title} table={table} />
      ))}
    </section>
  );
}

function Chart({ chart }: { chart: ChartData }) {
  const system = useApp().units.value;
  const id = useId();
  const drawn = drawChart(chart, system);
  // Of several limits the lowest has its name below it, out of the way of the others.
  const lowest = drawn.levels.length > 1 ? drawn.levels.reduce((a, b) => (b.y > a.y ? b : a)) : null;
  const xs = [...new Set(chart.lines.flatMap((line) => line.points.map((p) => p.x)))].sort((a, b) => a - b);
  return (
    <figure class="chart" aria-labelledby={`${id}-title`}>
      <figcaption>
        <h3 id={`${id}-title`}>{chart.title}</h3>
      </figcaption>
      <Frame
        box={BOX}
        label={`${chart.y_name} over ${chart.x_name.toLowerCase()}, ${chart.lines.map((line) => line.name).join(", ")}. The numbers follow as a table.`}
        xName={chart.x_name}
        xTicks={drawn.xTicks}
        yTicks={drawn.yTicks}
      >
        {drawn.marks.map((mark) => (
          <g key={mark.name}>
            <line class="chart-bound" x1={mark.x} x2={mark.x} y1={BOX.top} y2={BOTTOM} />
            <text class="chart-bound-name" x={mark.x - 4} y={BOX.top + 10} text-anchor="end">
              {mark.name}
            </text>
          </g>
        ))}
        {drawn.levels.map((level) => (
          <g key={level.name}>
            <line class="chart-bound" x1={BOX.left} x2={RIGHT} y1={level.y} y2={level.y} />
            <text class="chart-bound-name" x={RIGHT} y={level.y + (level === lowest ? 13 : -4)} text-anchor="end">
              {level.name}: {level.text}
            </text>
          </g>
        ))}
        {drawn.lines.map((line, at) => (
          <Series
            key={line.name}
            look={`chart-line chart-line-${at % 4}`}
            dash={DASHES[at % 4] ?? ""}
            points={line.points}
            shape={(p) => <Shape at={at} p={p} />}
          />
        ))}
      </Frame>
      {chart.lines.length > 1 ? (
        <ul class="chart-names">
          {chart.lines.map((line, at) => (
            <li key={line.name}>
              <svg
                class={`chart-line chart-line-${at % 4}`}
                viewBox="0 0 34 12"
                width="34"
                height="12"
                aria-hidden="true"
              >
                <polyline points="1,6 33,6" stroke-dasharray={DASHES[at % 4]} />
                <Shape at={at} p={{ x: 17, y: 6 }} />
              </svg>
              {line.name}
            </li>
          ))}
        </ul>
      ) : null}
      <p class="soft">
        {chart.note}
        {drawn.beyond.map((level) => ` Beyond the chart: ${level.name}, ${level.text}.`)}
      </p>
      <details>
        <summary>Numbers of this chart</summary>
        <Wide>
          <table class="plain">
            <thead>
              <tr>
                <th>{chart.x_name}</th>
                {chart.lines.map((line) => (
                  <th key={line.name}>{line.name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {xs.map((x) => (
                <tr key={x}>
                  <th scope="row">{valueText(x, chart.x_unit, system)}</th>
                  {chart.lines.map((line) => {
                    const point = line.points.find((p) => p.x === x);
                    return <td key={line.name}>{point ? pointText(point, chart.y_unit, system) : "–"}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      </details>
    </figure>
  );
}

/** A shape for each line, so that they are told apart without colour. */
function Shape({ at, p }: { at: number; p: { x: number; y: number } }) {
  const [x, y, r] = [p.x, p.y, 3.4];
  if (at % 4 === 0) return <circle cx={x} cy={y} r={r} />;
  if (at % 4 === 1) return <rect class="chart-hollow" x={x - r} y={y - r} width={2 * r} height={2 * r} />;
  if (at % 4 === 2) return <path d={`M${x},${y - 4.4}l4.4,7.6h-8.8z`} />;
  return <path class="chart-hollow" d={`M${x},${y - 4.8}l4.8,4.8l-4.8,4.8l-4.8,-4.8z`} />;
}

function Texts({ table }: { table: TableData }) {
  if (table.folded) {
    return (
      <details class="chart-table">
        <summary>{table.title}</summary>
        <TextRows table={table} />
      </details>
    );
  }
  return (
    <div class="chart-table">
      <h3>{table.title}</h3>
      <TextRows table={table} />
    </div>
  );
}

function TextRows({ table }: { table: TableData }) {
  return (
    <>
      <Wide>
        <table class="plain texts">
          <thead>
            <tr>
              {table.columns.map((name) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {table.rows.map((row) => (
              <tr key={row.join()}>
                {row.map((text, at) =>
                  at === 0 ? (
                    <th key={table.columns[at]} scope="row">
                      {text}
                    </th>
                  ) : (
                    <td key={table.columns[at]}>{text}</td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      {table.note ? <p class="soft">{table.note}</p> : null}
    </>
  );
}
