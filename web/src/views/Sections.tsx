// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Named } from "../lib/facts";
import { axisLabel, axisTitle, constantText, levelsText } from "../lib/labels";
import type { Pair } from "../lib/report-data.gen";
import { bytes, counted, percent, whole } from "../lib/units";
import { reasons } from "../lib/unmeasured";
import { useApp } from "./context";
import { Pairs } from "./Pairs";
import { FactsTable, Table } from "./Table";

/** Reasons told one by one. */
const REASONS = 25;

export function NotMeasured() {
  const { atlas, units } = useApp();
  const groups = useMemo(() => reasons(atlas), [atlas]);
  const [told, rest] = [groups.slice(0, REASONS), groups.slice(REASONS)];
  const others = {
    n: rest.reduce((n, group) => n + group.n, 0),
    reason: `${rest.length} further reasons, each of fewer cells: see the cells themselves`,
    where: [],
  };
  return (
    <section id="not-measured" aria-labelledby="not-measured-title">
      <h2 id="not-measured-title">What was not measured</h2>
      {groups.length === 0 ? (
        <p>Every cell of the sweep has a value.</p>
      ) : (
        <Table
          named={false}
          numbers={[0]}
          head={["Cells", "Why", "Where"]}
          rows={[...told, ...(rest.length > 0 ? [others] : [])].map(({ n, reason, where }) => [
            whole(n),
            reason,
            <span class="soft">
              {where
                .map(({ axis, levels }) => `${axisLabel(axis)} ${levelsText(axis, levels, units.value, 3)}`)
                .join("; ") || "spread over the sweep"}
            </span>,
          ])}
        />
      )}
    </section>
  );
}

export function Method() {
  const { atlas, units } = useApp();
  const { data } = atlas;
  const methods = [...new Set(atlas.marks.map((_, row) => atlas.texts.method(row)).filter(Boolean))];
  const system = units.value;
  const named = ({ name, value, unit }: Pair): Named => [name, unit === "bytes" ? bytes(Number(value), system) : value];
  const axesOf = (derived: boolean) => atlas.axes.filter((axis) => axis.derived === derived && axis.role === "option");
  return (
    <section id="method" aria-labelledby="method-title">
      <h2 id="method-title">Method, settings and testbed</h2>
      <div class="columns">
        <div>
          <h3>Sweep</h3>
          <Pairs
            of={[
              ...axesOf(false).map((axis): Named => [axisTitle(axis), levelsText(axis, axis.levels, system)]),
              ...data.constants.map((each): Named => [each.name, constantText(each, system)]),
            ]}
          />
          <h3>How numbers came about</h3>
          <Pairs
            of={[
              ["Methods", methods.join(", ")],
              [
                "Intervals",
                "95 % over visits (independent starts of the load), unless the method says otherwise; the spread inside one run is never an interval.",
              ],
              [
                "Follow from other axes",
                axesOf(true)
                  .map((axis) => `${axis.name}: ${levelsText(axis, axis.levels, system)}`)
                  .join("; "),
              ],
              [
                "Rounding in this page",
                data.cells.resolution > 0
                  ? `values to ${percent(data.cells.resolution)}, interval widths to a few per cent of themselves; an export has every digit.`
                  : "",
              ],
              [
                "Notes",
                data.cells.notes_left_out
                  ? "The notes on single cells were too many for this page; an export has them."
                  : "",
              ],
              ["Written by", `ioatlas ${data.campaign.tool_version}, campaign ${data.campaign.id}`],
            ]}
          />
        </div>
        <div>
          <h3>Settings</h3>
          <Pairs of={data.settings.map(named)} />
          <h3>{data.targets.length === 1 ? "Target" : "Targets"}</h3>
          <FactsTable
            head={["name", "kind"]}
            things={data.targets.map(({ name, kind, facts }) => ({ names: [name, kind], facts }))}
            name={(name) => name.replace(/_bytes$/, "").replaceAll("_", " ")}
            value={(name, value) => (name.endsWith("_bytes") ? bytes(Number(value), system) : value)}
          />
        </div>
      </div>
      {data.sessions.map((session, i) => (
        <div key={i} class="testbed">
          <h3>{data.sessions.length > 1 ? `Testbed, run ${i + 1} of ${data.sessions.length}` : "Testbed"}</h3>
          <Pairs of={session.entries.map(named)} />
          {session.n_withheld > 0 ? (
            <p class="soft small">Left out, for they name the site: {counted(session.n_withheld, "fact")}.</p>
          ) : null}
        </div>
      ))}
    </section>
  );
}

export function Discards() {
  const { atlas } = useApp();
  const { campaign, discard_reasons } = atlas.data;
  return (
    <section id="discards" aria-labelledby="discards-title">
      <h2 id="discards-title">Discarded visits</h2>
      <p>
        {campaign.n_discarded === 0
          ? "No visit was discarded."
          : `Discarded, and counted for no value: ${counted(campaign.n_discarded, "visit")}.`}
      </p>
      {discard_reasons.length > 0 ? (
        <Table
          named={false}
          numbers={[0]}
          head={["Visits", "Why"]}
          rows={discard_reasons.map((pair) => [pair.value, pair.name])}
        />
      ) : null}
    </section>
  );
}
