// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import { BOX, dotText, drawChart, xText } from "../lib/chart";
import type { Panel, Table as TableData } from "../lib/report-data.gen";
import { useApp } from "./context";
import { Frame } from "./Frame";
import { Series } from "./Series";
import { WideTable } from "./Table";

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
/** Of lines without marks. */
const LINES: Record<string, string> = { line: "", dashed: "6 3", dotted: "2 3" };
const [RIGHT, BOTTOM] = [BOX.width - BOX.right, BOX.height - BOX.bottom];

/** Charts and tables that a campaign brings beside its map: results above it (load points, a fixed-work sequence), how it was measured below. */
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

function Chart({ chart }: { chart: Panel }) {
  const system = useApp().units.value;
  const id = useId();
  const drawn = drawChart(chart, system);
  // Of several limits the lowest has its name below it, out of the way of the others.
  const lowest = drawn.limits.length > 1 ? drawn.limits.reduce((a, b) => (b.y > a.y ? b : a)) : null;
  const xs = [...new Set(chart.series.flatMap((one) => one.dots.map((d) => d.x)))].sort((a, b) => a - b);
  return (
    <figure class="chart" aria-labelledby={`${id}-title`}>
      <figcaption>
        <h3 id={`${id}-title`}>{chart.title}</h3>
      </figcaption>
      <Frame
        box={BOX}
        label={`${chart.y_name} over ${chart.x_name}, ${chart.series.map((one) => one.name).join(", ")}. The numbers follow as a table.`}
        xName={chart.x_name}
        xTicks={drawn.xTicks}
        yTicks={drawn.yTicks}
      >
        {drawn.band ? (
          <rect class="chart-band" x={drawn.band.x} width={drawn.band.width} y={BOX.top} height={BOTTOM - BOX.top} />
        ) : null}
        {drawn.marks.map((mark) => (
          <g key={mark.name}>
            {mark.drawn ? <line class="chart-bound" x1={mark.x} x2={mark.x} y1={BOX.top} y2={BOTTOM} /> : null}
            <text class="chart-bound-name" transform={`translate(${mark.x - 4} ${BOTTOM - 4}) rotate(-90)`}>
              {mark.name}
            </text>
          </g>
        ))}
        {drawn.limits.map((limit) => (
          <g key={limit.name}>
            <line class="chart-bound" x1={BOX.left} x2={RIGHT} y1={limit.y} y2={limit.y} />
            <text class="chart-bound-name" x={RIGHT} y={limit.y + (limit === lowest ? 13 : -4)} text-anchor="end">
              {limit.name}: {limit.text}
            </text>
          </g>
        ))}
        {drawn.series.map((one, at) => (
          <Series
            key={one.name}
            look={`chart-line chart-line-${at % 4}`}
            dash={dash(one.look, at)}
            points={one.points}
            {...(one.look === "dots" ? { runs: [] } : {})}
            shape={(p) => (LINES[one.look] === undefined ? <Shape at={at} p={p} hollow={p.unsure} /> : null)}
          />
        ))}
      </Frame>
      {chart.series.length > 1 ? (
        <ul class="chart-names">
          {chart.series.map(({ name, look }, at) => (
            <li key={name}>
              <svg
                class={`chart-line chart-line-${at % 4}`}
                viewBox="0 0 34 12"
                width="34"
                height="12"
                aria-hidden="true"
              >
                {look === "dots" ? null : <polyline points="1,6 33,6" stroke-dasharray={dash(look, at)} />}
                {LINES[look] === undefined ? <Shape at={at} p={{ x: 17, y: 6 }} hollow={false} /> : null}
              </svg>
              {name}
            </li>
          ))}
        </ul>
      ) : null}
      {chart.note ? <p class="soft">{chart.note}</p> : null}
      <details>
        <summary>Numbers of this chart</summary>
        <WideTable
          head={[chart.x_name, ...chart.series.map((one) => one.name)]}
          rows={xs.map((x) => [
            xText(chart, x),
            ...chart.series.map((one) => {
              const dot = one.dots.find((d) => d.x === x);
              return dot ? dotText(dot, chart.y_unit, system) : "–";
            }),
          ])}
        />
      </details>
    </figure>
  );
}

/** Of a line alone, or of one among others with marks. */
function dash(look: string, at: number): string {
  return LINES[look] ?? DASHES[at % 4] ?? "";
}

/** A shape for each series, so that they are told apart without colour. */
function Shape({ at, p, hollow }: { at: number; p: { x: number; y: number }; hollow: boolean }) {
  const [x, y, r] = [p.x, p.y, 3.4];
  const look = hollow ? "chart-hollow" : "";
  if (at % 6 === 0) return <circle class={look} cx={x} cy={y} r={r} />;
  if (at % 6 === 1) return <rect class={look} x={x - r} y={y - r} width={2 * r} height={2 * r} />;
  if (at % 6 === 2) return <path class={look} d={`M${x},${y - 4.4}l4.4,7.6h-8.8z`} />;
  if (at % 6 === 3) return <path class={look} d={`M${x},${y - 4.8}l4.8,4.8l-4.8,4.8l-4.8,-4.8z`} />;
  if (at % 6 === 4)
    return <path class={look} d={`M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`} />;
  return <path class={look} d={`M${x},${y - 4.8}v9.6m-4.8,-4.8h9.6`} />;
}

function Texts({ table }: { table: TableData }) {
  const { columns, rows, note, title } = table;
  const numbers = [...columns.keys()].slice(1).filter((at) => rows.every((row) => !/^\p{L}/u.test(row[at] ?? "")));
  const texts = (
    <>
      <WideTable look="texts" head={columns} rows={rows} numbers={numbers} />
      {note ? <p class="soft">{note}</p> : null}
    </>
  );
  return table.folded ? (
    <details class="chart-table">
      <summary>{title}</summary>
      {texts}
    </details>
  ) : (
    <div class="chart-table">
      <h3>{title}</h3>
      {texts}
    </div>
  );
}
