// SPDX-License-Identifier: Apache-2.0
import { countHidden, hide, setSeen } from "../app-state/filters";
import { axisAt } from "../lib/atlas";
import { axisLabel, axisTitle, levelText } from "../lib/labels";
import { useApp } from "./context";

/** Which values of each axis the map, the table and the lines show. The address keeps the choice. */
export function Filters() {
  const state = useApp();
  return (
    <div class="filters">
      {state.live.map((a) => (
        <AxisFilter key={a} a={a} />
      ))}
      {countHidden(state.hidden.value) > 0 ? (
        <button type="button" onClick={() => hide(state, new Map())}>
          Show all values
        </button>
      ) : null}
    </div>
  );
}

function AxisFilter({ a }: { a: number }) {
  const state = useApp();
  const axis = axisAt(state.atlas, a);
  const seen = state.seen.value[a] ?? [];
  return (
    <fieldset>
      <legend>{axisTitle(axis)}</legend>
      {axis.levels.map((value, level) => {
        const on = seen.includes(level);
        return (
          <label key={String(value)} class="check">
            <input
              type="checkbox"
              checked={on}
              disabled={on && seen.length === 1}
              onChange={(e) => setSeen(state, a, level, e.currentTarget.checked)}
            />{" "}
            {levelText(axis, value, state.units.value)}
          </label>
        );
      })}
      {seen.length < axis.levels.length ? (
        <button
          type="button"
          class="quiet"
          onClick={() => hide(state, new Map([...state.hidden.value].filter(([each]) => each !== a)))}
        >
          All<span class="unseen"> of {axisLabel(axis)}</span>
        </button>
      ) : null}
    </fieldset>
  );
}
