// SPDX-License-Identifier: Apache-2.0
import { useId, useState } from "preact/hooks";
import { pin } from "../app-state";
import { intervalText } from "../lib/facts";
import { axisLabel, axisTitle, levelText, shortLevel } from "../lib/labels";
import { tickText } from "../lib/scale";
import { ceilings, slice, sliceAxis } from "../lib/slice";
import { percent } from "../lib/units";
import { useApp } from "./context";
import { SlicePlot } from "./SlicePlot";
import { MARK_WORDS } from "./Swatch";

/** The bound of the path in words, also where it lies too far above the plot to be drawn. */
function Bound(props: {
  ceiling: { names: readonly string[]; values: readonly number[] };
  values: readonly number[];
  format: (v: number) => string;
}) {
  const shares = props.ceiling.values.map((bound, i) => (props.values[i] ?? Number.NaN) / bound);
  const most = Math.max(...shares.filter(Number.isFinite));
  const at = shares.indexOf(most);
  if (at < 0) return null;
  return (
    <p class="plot-told">
      Ceiling: {props.ceiling.names[at]}, {props.format(props.ceiling.values[at] ?? Number.NaN)};{" "}
      <span class="soft">at most {percent(most)} of it is reached here</span>
    </p>
  );
}

/** The pinned cell among its neighbours along one axis: a line with error bars, and the same numbers as a table. */
export function SliceView() {
  const state = useApp();
  const id = useId();
  const [hovered, setHovered] = useState<number | null>(null);
  const { atlas } = state;
  const system = state.units.value;
  const point = state.pinnedPoint.value;
  const reading = state.reading.value;
  const quantity = reading.quantity;
  const a = sliceAxis(state.live, state.sliceChoice.value, state.arrangement.value.x);
  const axis = atlas.axes[a];
  const seen = state.seen.value;
  /** The cells of a slice; those at values that are not seen have none of their own. */
  const along = (through: readonly number[]) =>
    slice(atlas, reading, through, a).map((each) =>
      seen[a]?.includes(each.level) ? each : { ...each, value: Number.NaN, low: Number.NaN, high: Number.NaN },
    );
  const points = point && axis ? along(point) : [];
  const b =
    state.live.includes(state.compareChoice.value) && state.compareChoice.value !== a ? state.compareChoice.value : -1;
  const other = atlas.axes[b];
  const neighbours =
    point && axis && other
      ? other.levels
          .map((level, l) => ({ l, label: shortLevel(other, level, system) }))
          .filter(({ l }) => l !== point[b] && seen[b]?.includes(l))
          .map(({ l, label }) => ({
            label,
            points: along(point.map((old, i) => (i === b ? l : old))),
          }))
      : [];
  const ceiling = point && axis ? ceilings(atlas, reading, point, a) : { names: [], values: [] };
  const at = point?.[a] ?? -1;
  if (!axis || !point) return null;
  const format = (v: number) => quantity.format(v, system);
  const told = points[hovered ?? at];
  const measured = points.filter((p) => Number.isFinite(p.value));
  return (
    <section class="slice" aria-labelledby={`${id}-title`}>
      <div class="slice-head">
        <h3 id={`${id}-title`}>
          {quantity.label} along<span class="on-paper"> {axisTitle(axis).toLowerCase()}</span>
        </h3>
        <select
          aria-label="Axis of the slice"
          value={String(a)}
          onChange={(e) => {
            state.sliceChoice.value = Number(e.currentTarget.value);
          }}
        >
          {state.live.map((each) => {
            const option = atlas.axes[each];
            return option ? (
              <option key={each} value={String(each)}>
                {axisTitle(option)}
              </option>
            ) : null;
          })}
        </select>
        {state.live.length > 1 ? (
          <label>
            thin lines for{" "}
            <select
              value={String(b)}
              onChange={(e) => {
                state.compareChoice.value = Number(e.currentTarget.value);
              }}
            >
              <option value="-1">nothing else</option>
              {state.live
                .filter((each) => each !== a)
                .map((each) => {
                  const option = atlas.axes[each];
                  return option ? (
                    <option key={each} value={String(each)}>
                      each of: {axisTitle(option)}
                    </option>
                  ) : null;
                })}
            </select>
          </label>
        ) : null}
      </div>
      <SlicePlot
        label={`${quantity.label} along ${axisLabel(axis)} through the cell: ${measured.length} of ${points.length} cells have a value. The numbers follow as a table.`}
        points={points}
        neighbours={neighbours}
        ceiling={ceiling}
        kind={state.scaleKind.value}
        numeric={axis.levels.every((level) => level === null || typeof level === "number")}
        unset={axis.levels.indexOf(null)}
        level={(i) => shortLevel(axis, axis.levels[i], system)}
        value={(v) => tickText(format(v))}
        base={quantity.inBytes && system === "iec" ? 1024 : 10}
        at={at}
        onPick={(level) =>
          pin(
            state,
            point.map((l, i) => (i === a ? level : l)),
          )
        }
        onHover={setHovered}
      />
      <p class="plot-told" aria-hidden="true">
        {told ? (
          <>
            {levelText(axis, axis.levels[told.level], system)}:{" "}
            {Number.isFinite(told.value) ? (
              <>
                <b>{format(told.value)}</b> <span class="soft">{intervalText(told.low, told.high, format)}</span>
              </>
            ) : (
              MARK_WORDS[told.mark]
            )}
          </>
        ) : (
          " "
        )}
      </p>
      <Bound ceiling={ceiling} values={points.map((p) => p.value)} format={format} />
      <details>
        <summary>Numbers of this line</summary>
        <table class="plain">
          <thead>
            <tr>
              <th>{axisLabel(axis)}</th>
              <th>{quantity.label}</th>
              <th>95 % interval</th>
              <th>State</th>
            </tr>
          </thead>
          <tbody>
            {points.map((p) => (
              <tr key={p.level}>
                <th scope="row">{levelText(axis, axis.levels[p.level], system)}</th>
                <td>{format(p.value)}</td>
                <td>{intervalText(p.low, p.high, format) || "–"}</td>
                <td>{MARK_WORDS[p.mark]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </section>
  );
}
