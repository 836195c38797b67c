// SPDX-License-Identifier: Apache-2.0
import { pin } from "../app-state";
import { axisAt } from "../lib/atlas";
import { axisLabel } from "../lib/labels";
import { useApp } from "./context";
import { Field, levelOptions } from "./Select";

/** One select for each axis, to move the pinned cell where the map is not shown. */
export function CellChooser() {
  const state = useApp();
  const point = state.pinnedPoint.value;
  if (!point || state.live.length === 0) return null;
  return (
    <div class="cell-chooser">
      {state.live.map((a) => (
        <Field
          key={a}
          label={axisLabel(axisAt(state.atlas, a))}
          value={point[a] ?? 0}
          options={levelOptions(state, a)}
          onChange={(chosen) => pin(state, point.with(a, chosen))}
        />
      ))}
    </div>
  );
}
