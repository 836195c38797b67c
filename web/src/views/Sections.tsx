// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import { axisLabel, axisTitle, constantText, levelsText } from "../lib/labels";
import type { Pair, TargetData } from "../lib/report-data.gen";
import { bytes, percent, whole } from "../lib/units";
import { reasons } from "../lib/unmeasured";
import { useApp } from "./context";
import { Wide } from "./Wide";

/** Reasons told one by one. */
const REASONS = 25;

export function NotMeasured() {
  const { atlas, units } = useApp();
  const groups = useMemo(() => reasons(atlas), [atlas]);
  const rest = groups.slice(REASONS);
  return (
    <section id="not-measured" aria-labelledby="not-measured-title">
      <h2 id="not-measured-title">What was not measured</h2>
      {groups.length === 0 ? (
        <p>Every cell of the sweep has a value.</p>
      ) : (
        <table class="plain">
          <thead>
            <tr>
              <th class="num">Cells</th>
              <th>Why</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {groups.slice(0, REASONS).map((group) => (
              <tr key={group.reason}>
                <td class="num">{whole(group.n)}</td>
                <td>{group.reason}</td>
                <td class="soft">
                  {group.where.length === 0
                    ? "spread over the sweep"
                    : group.where
                        .map(({ axis, levels }) => {
                          return `${axisLabel(axis)} ${levelsText(axis, levels, units.value, 3)}`;
                        })
                        .join("; ")}
                </td>
              </tr>
            ))}
            {rest.length > 0 ? (
              <tr>
                <td class="num">{whole(rest.reduce((n, group) => n + group.n, 0))}</td>
                <td>{rest.length} further reasons, each of fewer cells: see the cells themselves</td>
                <td />
              </tr>
            ) : null}
          </tbody>
        </table>
      )}
    </section>
  );
}

export function Method() {
  const { atlas, units } = useApp();
  const { data } = atlas;
  const methods = [...new Set(atlas.method.texts.filter(Boolean))];
  const system = units.value;
  return (
    <section id="method" aria-labelledby="method-title">
      <h2 id="method-title">Method, settings and testbed</h2>
      <div class="columns">
        <div>
          <h3>Sweep</h3>
          <dl class="pairs">
            {atlas.axes
              .filter((axis) => !axis.derived && axis.role === "option")
              .map((axis) => (
                <Entry key={axis.name} name={axisTitle(axis)} value={levelsText(axis, axis.levels, system)} />
              ))}
            {data.constants.map((each) => (
              <Entry key={each.name} name={each.name} value={constantText(each, system)} />
            ))}
          </dl>
          <h3>How numbers came about</h3>
          <dl class="pairs">
            {methods.length ? <Entry name="Methods" value={methods.join(", ")} /> : null}
            <Entry
              name="Intervals"
              value="95 % over visits (independent starts of the load), unless the method says otherwise; the spread inside one run is never an interval."
            />
            {atlas.axes.some((axis) => axis.derived && axis.role === "option") ? (
              <Entry
                name="Follow from other axes"
                value={atlas.axes
                  .filter((axis) => axis.derived && axis.role === "option")
                  .map((axis) => `${axis.name}: ${levelsText(axis, axis.levels, system)}`)
                  .join("; ")}
              />
            ) : null}
            {data.cells.resolution > 0 ? (
              <Entry
                name="Rounding in this page"
                value={`values to ${percent(data.cells.resolution)}, interval widths to a few per cent of themselves; an export has every digit.`}
              />
            ) : null}
            {data.cells.notes_left_out ? (
              <Entry name="Notes" value="The notes on single cells were too many for this page; an export has them." />
            ) : null}
            <Entry name="Written by" value={`ioatlas ${data.campaign.tool_version}, campaign ${data.campaign.id}`} />
          </dl>
        </div>
        <div>
          <h3>Settings</h3>
          <Pairs pairs={data.settings} />
          <h3>{data.targets.length === 1 ? "Target" : "Targets"}</h3>
          <Targets targets={data.targets} />
        </div>
      </div>
      {data.sessions.map((session, i) => (
        <div key={i} class="testbed">
          <h3>{data.sessions.length > 1 ? `Testbed, run ${i + 1} of ${data.sessions.length}` : "Testbed"}</h3>
          <Pairs pairs={session.entries} />
          {session.n_withheld > 0 ? (
            <p class="soft small">
              {session.n_withheld} entr{session.n_withheld === 1 ? "y" : "ies"} naming the site left out.
            </p>
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
          : `${whole(campaign.n_discarded)} visit${campaign.n_discarded === 1 ? " was" : "s were"} discarded and count${campaign.n_discarded === 1 ? "s" : ""} for no value.`}
      </p>
      {discard_reasons.length > 0 ? (
        <table class="plain">
          <thead>
            <tr>
              <th class="num">Visits</th>
              <th>Why</th>
            </tr>
          </thead>
          <tbody>
            {discard_reasons.map((pair) => (
              <tr key={pair.name}>
                <td class="num">{pair.value}</td>
                <td>{pair.name}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </section>
  );
}

/** One line a target, one column a fact that any of them has. */
function Targets({ targets }: { targets: readonly TargetData[] }) {
  const { units } = useApp();
  const facts = [...new Set(targets.flatMap((target) => target.facts.map((pair) => pair.name)))];
  const fact = (target: TargetData, name: string) => {
    const value = target.facts.find((pair) => pair.name === name)?.value;
    if (value === undefined) return "–";
    return name.endsWith("_bytes") ? bytes(Number(value), units.value) : value;
  };
  return (
    <Wide>
      <table class="plain">
        <thead>
          <tr>
            <th>name</th>
            <th>kind</th>
            {facts.map((name) => (
              <th key={name}>{name.replace(/_bytes$/, "").replaceAll("_", " ")}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {targets.map((target) => (
            <tr key={target.name}>
              <th scope="row">{target.name}</th>
              <td>{target.kind}</td>
              {facts.map((name) => (
                <td key={name}>{fact(target, name)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function Pairs({ pairs }: { pairs: readonly Pair[] }) {
  const { units } = useApp();
  return (
    <dl class="pairs">
      {pairs.map((pair) => (
        <Entry
          key={pair.name}
          name={pair.name}
          value={pair.unit === "bytes" ? bytes(Number(pair.value), units.value) : pair.value}
        />
      ))}
    </dl>
  );
}

function Entry({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
