// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import { pin } from "../app-state";
import { axisLabel, levelText } from "../lib/labels";
import { useApp } from "./context";

/** One select for each axis, to move the pinned cell where the map is not shown. */
export function CellChooser() {
  const state = useApp();
  const id = useId();
  const point = state.pinnedPoint.value;
  if (!point || state.live.length === 0) return null;
  return (
    <div class="cell-chooser">
      {state.live.map((a) => {
        const axis = state.atlas.axes[a];
        return axis ? (
          <div key={a} class="field">
            <label for={`${id}-${a}`}>{axisLabel(axis)}</label>
            <select
              id={`${id}-${a}`}
              value={String(point[a] ?? 0)}
              onChange={(e) => {
                const chosen = Number(e.currentTarget.value);
                pin(
                  state,
                  point.map((level, i) => (i === a ? chosen : level)),
                );
              }}
            >
              {axis.levels.map((level, i) => (
                <option key={String(level)} value={String(i)}>
                  {levelText(axis, level, state.units.value)}
                </option>
              ))}
            </select>
          </div>
        ) : null;
      })}
    </div>
  );
}
