// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import { BOX, dotText, drawChart, xText } from "../lib/chart";
import type { Panel, Table as TableData } from "../lib/report-data.gen";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { Frame } from "./Frame";
import { Series, Shape, type ShapeName } from "./Series";
import { WideTable } from "./Table";

interface Style {
  look: string;
  dash?: string;
  shape?: ShapeName;
  name?: string;
}

const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
/** Of lines without marks. */
const LINES: Record<string, string> = { line: "", dashed: "6 3", dotted: "2 3" };
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "plus"] as const;
/** Room for the names at the ends of lines. */
const NAMES = 58;

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

/** chosen: the series that stands out among thin ones; each has its name at its end. */
export function Chart({ chart, chosen }: { chart: Panel; chosen?: string }) {
  const system = useApp().units.value;
  const id = useId();
  const drawn = drawChart(chart, system, chosen === undefined ? BOX.right : NAMES);
  const { box } = drawn;
  const [right, bottom] = [box.width - box.right, box.height - box.bottom];
  const styles = chart.series.map(({ name, look }, at): Style => {
    if (chosen === undefined) return ownStyle(look, at);
    return name === chosen ? { look: "chart-line", shape: "circle", name } : { look: "chart-thin", shape: "dot", name };
  });
  // Of several limits the lowest has its name below it, out of the way of the others.
  const lowest = drawn.limits.length > 1 ? drawn.limits.reduce((a, b) => (b.y > a.y ? b : a)) : null;
  const xs = [...new Set(chart.series.flatMap((one) => one.dots.map((d) => d.x)))].sort((a, b) => a - b);
  return (
    <figure class="chart" aria-labelledby={`${id}-title`}>
      <figcaption>
        <h3 id={`${id}-title`}>{chart.title}</h3>
      </figcaption>
      <Frame
        box={box}
        label={`${chart.y_name} over ${chart.x_name}, ${chart.series.map((one) => one.name).join(", ")}. The numbers follow as a table.`}
        xName={chart.x_name}
        xTicks={drawn.xTicks}
        yTicks={drawn.yTicks}
      >
        {drawn.band ? (
          <rect class="chart-band" x={drawn.band.x} width={drawn.band.width} y={box.top} height={bottom - box.top} />
        ) : null}
        {drawn.marks.map((mark) => (
          <g key={mark.name}>
            {mark.drawn ? <line class="chart-bound" x1={mark.x} x2={mark.x} y1={box.top} y2={bottom} /> : null}
            <text class="chart-bound-name" transform={`translate(${mark.x - 4} ${bottom - 4}) rotate(-90)`}>
              {mark.name}
            </text>
          </g>
        ))}
        {drawn.limits.map((limit) => (
          <g key={limit.name}>
            <line class="chart-bound" x1={box.left} x2={right} y1={limit.y} y2={limit.y} />
            <text class="chart-bound-name" x={right} y={limit.y + (limit === lowest ? 13 : -4)} text-anchor="end">
              {limit.name}: {limit.text}
            </text>
          </g>
        ))}
        {drawn.series.map((one, at) => (
          <Series
            key={one.name}
            {...(styles[at] ?? ownStyle(one.look, at))}
            points={one.points}
            {...(one.look === "dots" ? { runs: [] } : {})}
          />
        ))}
      </Frame>
      {chart.series.length > 1 && chosen === undefined ? (
        <ul class="chart-names">
          {styles.map(({ look, dash, shape }, at) => (
            <li key={at}>
              <svg class={look} viewBox="0 0 34 12" width="34" height="12" aria-hidden="true">
                {chart.series[at]?.look === "dots" ? null : <polyline points="1,6 33,6" stroke-dasharray={dash} />}
                {shape ? <Shape name={shape} x={17} y={6} /> : null}
              </svg>
              {chart.series[at]?.name}
            </li>
          ))}
        </ul>
      ) : null}
      {chart.note ? <p class="soft">{chart.note}</p> : null}
      <Folded title="Numbers of this chart">
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
      </Folded>
    </figure>
  );
}

/** How one series among others is drawn: told apart by dashes and shapes, without colour. */
function ownStyle(look: string, at: number): Style {
  const style = { look: `chart-line chart-line-${at % 4}`, dash: LINES[look] ?? DASHES[at % DASHES.length] ?? "" };
  return look in LINES ? style : { ...style, shape: SHAPES[at % SHAPES.length] ?? "circle" };
}

function Texts({ table }: { table: TableData }) {
  const { columns, rows, note, title } = table;
  const numbers = [...columns.keys()].slice(1).filter((at) => rows.every((row) => !/^\p{L}/u.test(row[at] ?? "")));
  const texts = (
    <>
      <WideTable look="plain texts" head={columns} rows={rows} numbers={numbers} />
      {note ? <p class="soft">{note}</p> : null}
    </>
  );
  return table.folded ? (
    <Folded look="chart-table" title={title}>
      {texts}
    </Folded>
  ) : (
    <div class="chart-table">
      <h3>{title}</h3>
      {texts}
    </div>
  );
}
