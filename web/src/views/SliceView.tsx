// SPDX-License-Identifier: Apache-2.0
import { useId, useState } from "preact/hooks";
import { pin } from "../app-state";
import { MARK_WORDS } from "../lib/atlas";
import { intervalText } from "../lib/facts";
import { axisLabel, axisTitle, levelText, shortLevel } from "../lib/labels";
import { ceilings, slice, sliceAxis } from "../lib/slice";
import { percent } from "../lib/units";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { axisOptions, type Option, Select } from "./Select";
import { SlicePlot } from "./SlicePlot";
import { Table } from "./Table";

/** The pinned cell among its neighbours along one axis: a line with error bars, and the same numbers as a table. */
export function SliceView() {
  const state = useApp();
  const id = useId();
  const [hovered, setHovered] = useState<number | null>(null);
  const { atlas, live } = state;
  const system = state.units.value;
  const point = state.pinnedPoint.value;
  const reading = state.reading.value;
  const quantity = reading.quantity;
  const a = sliceAxis(live, state.sliceChoice.value, state.arrangement.value.x);
  const axis = atlas.axes[a];
  if (!axis || !point) return null;
  const seen = state.seen.value;
  /** The cells of a slice; those at values that are not seen have none of their own. */
  const along = (through: readonly number[]) =>
    slice(atlas, reading, through, a).map((each) =>
      seen[a]?.includes(each.level) ? each : { ...each, value: Number.NaN, low: Number.NaN, high: Number.NaN },
    );
  const points = along(point);
  const b =
    live.includes(state.compareChoice.value) && state.compareChoice.value !== a ? state.compareChoice.value : -1;
  const other = atlas.axes[b];
  const neighbours = (other ? (seen[b] ?? []) : [])
    .filter((level) => level !== point[b])
    .map((level) => ({
      label: other ? shortLevel(other, other.levels[level], system) : "",
      points: along(point.with(b, level)),
    }));
  const ceiling = ceilings(atlas, reading, point, a);
  const at = point[a] ?? -1;
  const others = axisOptions(state).flatMap(([each, text]): Option[] =>
    each === a ? [] : [[each, `each of: ${text}`]],
  );
  const format = (v: number) => quantity.format(v, system);
  const text = (level: number) => levelText(axis, axis.levels[level], system);
  const told = points[hovered ?? at];
  const measured = points.filter((p) => Number.isFinite(p.value));
  const shares = ceiling.values.map((bound, i) => (points[i]?.value ?? Number.NaN) / bound);
  const most = Math.max(...shares.filter(Number.isFinite));
  const nearest = shares.indexOf(most);
  return (
    <section class="slice" aria-labelledby={`${id}-title`}>
      <div class="slice-head">
        <h3 id={`${id}-title`}>
          {quantity.label} along<span class="on-paper"> {axisTitle(axis).toLowerCase()}</span>
        </h3>
        <Select
          label="Axis of the slice"
          value={a}
          options={axisOptions(state)}
          onChange={(chosen) => {
            state.sliceChoice.value = chosen;
          }}
        />
        {others.length > 0 ? (
          <span>
            <label for={id}>thin lines for</label>{" "}
            <Select
              id={id}
              value={b}
              options={[[-1, "nothing else"], ...others]}
              onChange={(chosen) => {
                state.compareChoice.value = chosen;
              }}
            />
          </span>
        ) : null}
      </div>
      <SlicePlot
        label={`${quantity.label} along ${axisLabel(axis)} through the cell: ${measured.length} of ${points.length} cells have a value. The numbers follow as a table.`}
        axis={axis}
        points={points}
        neighbours={neighbours}
        ceiling={ceiling}
        at={at}
        onPick={(level) => pin(state, point.with(a, level))}
        onHover={setHovered}
      />
      <p class="plot-told" aria-hidden="true">
        {told ? `${text(told.level)}: ` : " "}
        {told && Number.isFinite(told.value) ? (
          <>
            <b>{format(told.value)}</b> <span class="soft">{intervalText(told.low, told.high, format)}</span>
          </>
        ) : (
          told && MARK_WORDS[told.mark]
        )}
      </p>
      {/* The bound of the path in words, also where it lies too far above the plot to be drawn. */}
      {nearest >= 0 ? (
        <p class="plot-told">
          Ceiling: {ceiling.names[nearest]}, {format(ceiling.values[nearest] ?? Number.NaN)};{" "}
          <span class="soft">at most {percent(most)} of it is reached here</span>
        </p>
      ) : null}
      <Folded title="Numbers of this line">
        <Table
          head={[axisLabel(axis), quantity.label, "95 % interval", "State"]}
          rows={points.map((p) => [
            text(p.level),
            format(p.value),
            intervalText(p.low, p.high, format) || "–",
            MARK_WORDS[p.mark],
          ])}
        />
      </Folded>
    </section>
  );
}
