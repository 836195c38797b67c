// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import type { RoundsData } from "../lib/report-data.gen";
import { ROUNDS_BOX as BOX, placeRounds } from "../lib/rounds";
import { bytes, count, latency, rate, size, type UnitSystem } from "../lib/units";
import { useApp } from "./context";
import { Wide } from "./Wide";

const [RIGHT, BOTTOM] = [BOX.width - BOX.right, BOX.height - BOX.bottom];

/** A test that ran in rounds: whether its tracked value became steady, that value against the round, and the averages of the window. */
export function Rounds() {
  const tests = useApp().atlas.data.rounds;
  if (tests.length === 0) return null;
  return (
    <section id="rounds" aria-labelledby="rounds-title">
      <h2 id="rounds-title">SNIA performance test</h2>
      {tests.map((test) => (
        <Test key={`${test.target} ${test.title} ${test.part}`} test={test} />
      ))}
    </section>
  );
}

function told(value: number, quantity: RoundsData["quantity"], system: UnitSystem): string {
  if (quantity === "iops") return `${count(value)} IOPS`;
  return quantity === "lat_mean_ns" ? latency(value) : rate(value, system);
}

function Test({ test }: { test: RoundsData }) {
  const system = useApp().units.value;
  const name = [test.title.charAt(0).toUpperCase() + test.title.slice(1), test.target, test.part]
    .filter(Boolean)
    .join(", ");
  const verdict = test.met ? "Steady state met" : "Steady state not met";
  return (
    <article class="rounds">
      <h3>{name}</h3>
      <p>
        {test.claims ? (
          <b>
            <span aria-hidden="true">{test.met ? "✓ " : "✕ "}</span>
            {verdict}
          </b>
        ) : (
          <b>
            {size(test.footprint_bytes, system)} written over {(test.written_bytes / test.footprint_bytes).toFixed(1)}{" "}
            times
          </b>
        )}{" "}
        after {test.values.length} rounds{test.ended && !test.met ? ` (${test.ended})` : ""}; {test.reason}.
        {test.average === null
          ? ""
          : ` ${test.tracked}: ${told(test.average, test.quantity, system)}, the average of the window.`}
      </p>
      <Plot test={test} system={system} />
      <Grid test={test} system={system} />
      <p class="soft">
        Purge: {test.purge || "none"}. Written in the rounds: {bytes(test.written_bytes, system)}.{" "}
        {test.deviations.length === 0
          ? "Made as the specification says."
          : `Not as the specification says: ${test.deviations.join(" ")}`}
      </p>
    </article>
  );
}

function Plot({ test, system }: { test: RoundsData; system: UnitSystem }) {
  const id = useId();
  const drawn = placeRounds(test);
  const text = (value: number) => told(value, test.quantity, system);
  return (
    <figure class="rounds-plot" aria-labelledby={id}>
      <Wide>
        <svg
          viewBox={`0 0 ${BOX.width} ${BOX.height}`}
          role="img"
          aria-label={`${test.tracked} against the round: ${test.values.map((v, i) => `round ${i + 1} ${text(v)}`).join(", ")}`}
        >
          {drawn.window ? (
            <rect
              class="rounds-window"
              x={drawn.window.from}
              width={drawn.window.to - drawn.window.from}
              y={BOX.top}
              height={BOTTOM - BOX.top}
            />
          ) : null}
          {drawn.yTicks.map((tick) => (
            <g key={tick.value}>
              <line class="chart-grid" x1={BOX.left} x2={RIGHT} y1={tick.at} y2={tick.at} />
              <text class="chart-tick" x={BOX.left - 6} y={tick.at + 4} text-anchor="end">
                {text(tick.value)}
              </text>
            </g>
          ))}
          {drawn.xTicks.map((tick) => (
            <text key={tick.value} class="chart-tick" x={tick.at} y={BOTTOM + 16} text-anchor="middle">
              {tick.value}
            </text>
          ))}
          <text class="chart-tick" x={(BOX.left + RIGHT) / 2} y={BOX.height - 6} text-anchor="middle">
            Round
          </text>
          {drawn.bounds.map((bound) => (
            <g key={bound.name}>
              <line
                class={`rounds-${bound.kind}`}
                x1={bound.from.x}
                y1={bound.from.y}
                x2={bound.to.x}
                y2={bound.to.y}
              />
              <text class="chart-bound-name" x={bound.to.x + 4} y={bound.to.y + 4}>
                {bound.name}
              </text>
            </g>
          ))}
          <polyline class="rounds-line" points={drawn.points.map((p) => `${p.x},${p.y}`).join(" ")} />
          {drawn.points.map((p) => (
            <circle key={p.round} class={p.inside ? "rounds-in" : "rounds-out"} cx={p.x} cy={p.y} r="3.6">
              <title>{`Round ${p.round}: ${text(p.value)}`}</title>
            </circle>
          ))}
        </svg>
      </Wide>
      <figcaption id={id} class="soft">
        {test.tracked} in each round. Filled: the measurement window of five rounds, with its average, 10 % above and
        below it, and the best-fit line (dashed).
        {test.first > 1 ? ` Rounds before ${test.first} belong to a session that was interrupted.` : ""}
      </figcaption>
    </figure>
  );
}

/** Averages of the window: block sizes down, read shares across. */
function Grid({ test, system }: { test: RoundsData; system: UnitSystem }) {
  const shares = [...new Set(test.cells.map((cell) => cell.read_percent))].sort((a, b) => b - a);
  const sizes = [...new Set(test.cells.map((cell) => cell.bs_bytes))].sort((a, b) => a - b);
  const unit = { iops: "IOPS", bw_bytes_per_s: "throughput", lat_mean_ns: "mean latency" }[test.quantity];
  const rounds = test.window ? `rounds ${test.window[0]} to ${test.window[1]}` : "rounds so far";
  const caption = `Average ${unit} of the ${rounds}; columns: reads / writes in per cent of the I/Os`;
  const shown = (share: number, block: number) => {
    const cell = test.cells.find((each) => each.read_percent === share && each.bs_bytes === block);
    if (!cell || cell.value === null) return "–";
    const value = test.quantity === "iops" ? count(cell.value) : told(cell.value, test.quantity, system);
    return cell.tracked ? <b>{value}</b> : value;
  };
  return (
    <Wide>
      <p class="soft">{caption}.</p>
      <table class="plain">
        <thead>
          <tr>
            <th>Block</th>
            {shares.map((share) => (
              <th key={share} class="num">
                {share} / {100 - share}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sizes.map((block) => (
            <tr key={block}>
              <th scope="row">{size(block, system)}</th>
              {shares.map((share) => (
                <td key={share} class="num">
                  {shown(share, block)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
