// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import { chooseQuantity, placeAxis, setLevel, type View } from "../app-state";
import { countHidden, nearest } from "../app-state/filters";
import { type Arrangement, placed } from "../lib/arrange";
import { axisAt } from "../lib/atlas";
import { axisLabel, levelText } from "../lib/labels";
import { type QuantityId, quantitiesOf } from "../lib/quantities";
import type { ScaleKind } from "../lib/scale";
import { counted } from "../lib/units";
import { Choice } from "./Choice";
import { useApp } from "./context";
import { Filters } from "./Filters";
import { Folded } from "./Folded";
import { axisOptions, Field, levelOptions } from "./Select";
import { Share } from "./Share";

export function Controls() {
  const state = useApp();
  const { atlas } = state;
  const quantities = quantitiesOf(atlas).filter(({ id, columns }) =>
    (id === "width" ? columns : columns.slice(0, 1)).every((name) => atlas.values.has(name)),
  );
  const hidden = countHidden(state.hidden.value);
  const onMap = state.live.length > 0 && (state.view.value === "map" || state.view.value === "table");
  return (
    <div class="controls">
      <Choice<View>
        label="View"
        of={state.view}
        options={{
          map: "Map",
          ...(atlas.data.latency_curves.n > 0 ? { latency: "Latency" } : {}),
          ...(atlas.data.time_courses.n > 0 ? { time: "Time" } : {}),
          table: "Table",
        }}
      />
      <Choice<QuantityId>
        label="Quantity"
        of={state.quantityId}
        onChange={(v) => chooseQuantity(state, v)}
        options={Object.fromEntries(quantities.map((q) => [q.id, q.label]))}
      />
      {onMap ? <Sliders /> : null}
      <Folded look="more" title={`Axes and more${hidden > 0 ? `: ${counted(hidden, "value")} hidden` : ""}`}>
        <div class="more-body">
          <div class="controls-row axes">
            {onMap && state.live.length > 1 ? <AxisSelects /> : null}
            <Choice<ScaleKind>
              label="Scale"
              of={state.scaleKind}
              onChange={(v) => {
                state.scaleChoice.value = v;
              }}
              options={{ linear: "Linear", log: "Log" }}
            />
          </div>
          {onMap ? <Filters /> : null}
          <Share />
        </div>
      </Folded>
    </div>
  );
}

const PLACES: Record<keyof Arrangement, string> = { x: "Across", y: "Up", columns: "Tile columns", rows: "Tile rows" };

function AxisSelects() {
  const state = useApp();
  const arrangement = state.arrangement.value;
  const places = (Object.keys(PLACES) as (keyof Arrangement)[]).slice(0, Math.max(2, state.live.length));
  return (
    <>
      {places.map((at, i) => (
        <>
          <Field
            key={at}
            label={PLACES[at]}
            value={arrangement[at]}
            options={at === "x" ? axisOptions(state) : [[-1, "none"], ...axisOptions(state)]}
            onChange={(axis) => placeAxis(state, at, axis)}
          />
          {i === 0 ? (
            <button
              key="swap"
              type="button"
              class="swap"
              aria-label="Swap the axes across and up"
              title="Swap across and up"
              onClick={() => placeAxis(state, "x", arrangement.y)}
              disabled={arrangement.y < 0}
            >
              <svg width="16" height="12" viewBox="0 0 16 12" aria-hidden="true">
                <path d="M1 3.5h13M11 .8l3 2.7-3 2.7M15 8.5H2M5 5.8 2 8.5l3 2.7" fill="none" stroke="currentColor" />
              </svg>
            </button>
          ) : null}
        </>
      ))}
    </>
  );
}

/** Where the axes stand that are not on the map. */
function Sliders() {
  const state = useApp();
  const on = new Set(placed(state.arrangement.value));
  return (
    <>
      {state.live
        .filter((a) => !on.has(a))
        .map((a) => (
          <Slider key={a} a={a} />
        ))}
    </>
  );
}

function Slider({ a }: { a: number }) {
  const state = useApp();
  const id = useId();
  const axis = axisAt(state.atlas, a);
  const level = state.fixed.value[a] ?? 0;
  const seen = state.seen.value[a] ?? [];
  if (seen.length < 2) return null;
  const text = levelText(axis, axis.levels[level], state.units.value);
  if (!axis.numeric) {
    return (
      <Field
        label={axisLabel(axis)}
        value={level}
        options={levelOptions(state, a, seen)}
        onChange={(chosen) => setLevel(state, a, chosen)}
      />
    );
  }
  return (
    <div class="field slider">
      <label for={id}>
        {axisLabel(axis)} <output for={id}>{text}</output>
      </label>
      <input
        id={id}
        type="range"
        min="0"
        max={seen.length - 1}
        step="1"
        value={nearest(seen, level)}
        aria-valuetext={text}
        onInput={(e) => setLevel(state, a, seen[Number(e.currentTarget.value)] ?? level)}
      />
    </div>
  );
}
