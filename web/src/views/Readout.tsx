// SPDX-License-Identifier: Apache-2.0
import type { Slot } from "../lib/atlas";
import { factsAt, visitsText } from "../lib/facts";
import { cellLabel } from "../lib/labels";
import { counted, duration } from "../lib/units";
import { useApp } from "./context";
import { Later } from "./Later";
import { MARK_WORDS, Swatch } from "./Swatch";

/** Which cell: its levels, one beside the other. */
export function CellName({ slot }: { slot: Slot }) {
  const { atlas, units } = useApp();
  const parts = cellLabel(atlas, slot, units.value);
  if (parts.length === 0) return <p class="cell-name">The only cell</p>;
  return (
    <dl class="cell-name">
      {parts.map((part) => (
        <div key={part.name}>
          <dt>{part.name}</dt>
          <dd>{part.text}</dd>
        </div>
      ))}
    </dl>
  );
}

const LATENCY_WORDS: Record<string, string> = {
  completion: "completion only",
  intended: "from the time each I/O was due",
};

/** Every number of a cell with its interval, visits, verdict and method. */
export function Readout({ slot, brief = false }: { slot: Slot; brief?: boolean }) {
  const { atlas, units, quantityId } = useApp();
  const facts = factsAt(atlas, slot, units.value);
  if (facts.reason) {
    return (
      <p class="reason">
        <Swatch mark={facts.mark} /> {facts.reason}
      </p>
    );
  }
  const rows: [string, string][] = [["Visits", visitsText(facts)]];
  const how: [string, string][] = [["Method", facts.method || "not given"]];
  if (facts.grade) rows.push(["Trust", facts.grade]);
  if (facts.ceiling) rows.push(["Ceiling", facts.ceiling]);
  if (facts.limit) rows.push(["Limited by", facts.limit]);
  if (facts.power) rows.push(["Power", facts.power]);
  if (!brief && facts.limitWhy) rows.push(["Because", facts.limitWhy]);
  if (Number.isFinite(facts.windowSeconds)) how.push(["Window", duration(facts.windowSeconds)]);
  if (Number.isFinite(facts.cutSeconds))
    how.push(["Cut as warm-up", facts.cutSeconds ? duration(facts.cutSeconds) : "nothing"]);
  how.push(["Discarded", counted(facts.nDiscarded, "visit")]);
  how.push(["Latency", LATENCY_WORDS[facts.latKind] ?? facts.latKind]);
  if (facts.loop) how.push(["Loop", facts.loop]);
  if (facts.seeds) how.push(["Seeds", facts.seeds]);
  if (facts.note) how.push(["Note", facts.note]);
  return (
    <div class="readout">
      <table>
        <thead class="unseen">
          <tr>
            <th>Quantity</th>
            <th>Value</th>
            <th>95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {facts.lines.map((line) => (
            <tr key={line.id} class={line.id === quantityId.value ? "on" : ""}>
              <th scope="row">{line.short}</th>
              <td>{line.value}</td>
              <td class="soft">{line.interval || (line.id === "width" ? "" : "no interval")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="verdict">
        <Swatch mark={facts.mark} /> {facts.kind}
        {facts.verdict && facts.verdict !== facts.kind ? `, ${facts.verdict}` : ""}
        <span class="unseen"> ({MARK_WORDS[facts.mark]})</span>
      </p>
      <Meta rows={rows} />
      {brief ? null : (
        <details>
          <summary>How it was measured</summary>
          <Later>
            <Meta rows={how} />
          </Later>
        </details>
      )}
    </div>
  );
}

function Meta({ rows }: { rows: readonly [string, string][] }) {
  return (
    <dl class="meta">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
