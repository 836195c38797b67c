// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import { type AppState, pointAt } from "../app-state";
import { cellBox, type Layout } from "../draw/layout";
import { slotAt } from "../lib/atlas";
import { axisLabel, cellLabel, levelText } from "../lib/labels";
import { useApp } from "./context";
import { CellName, Readout } from "./Readout";

/** The cell at a point in words, also where the sweep has none. */
export function pointWords(state: AppState, point: readonly number[]): string {
  const { atlas } = state;
  const slot = slotAt(atlas, point);
  const parts =
    slot !== 0
      ? cellLabel(atlas, slot, state.units.value).map((part) => part.join(" "))
      : state.live.map((a) => {
          const axis = atlas.axes[a];
          return axis ? `${axisLabel(axis)} ${levelText(axis, axis.levels[point[a] ?? 0], state.units.value)}` : "";
        });
  return parts.join(", ") || "The only cell";
}

/** The numbers of the cell under the pointer or focus, beside it and inside the window. */
export function Tip({ layout }: { layout: Layout }) {
  const state = useApp();
  const ref = useRef<HTMLDivElement>(null);
  const at = state.hovered.value;
  useLayoutEffect(() => {
    const tip = ref.current;
    const board = tip?.parentElement;
    if (!tip || !board || !at) return;
    const origin = board.getBoundingClientRect();
    const { left, top } = cellBox(layout, at);
    const [w, h] = [tip.offsetWidth, tip.offsetHeight];
    const margin = 8;
    const edge = { left: origin.left + left, top: origin.top + top };
    const clamp = (at: number, size: number, room: number) => Math.max(margin, Math.min(at, room - size - margin));
    const right = edge.left + layout.cellWidth + 10;
    let px: number;
    let py = clamp(edge.top + layout.cellHeight / 2 - h / 2, h, window.innerHeight);
    if (right + w <= window.innerWidth - margin) px = right;
    else if (edge.left - w - 10 >= margin) px = edge.left - w - 10;
    else {
      // No room beside the cell: below it, or above, but not over it.
      px = clamp(edge.left - w / 2, w, window.innerWidth);
      const below = edge.top + layout.cellHeight + 10;
      py = below + h <= window.innerHeight - margin ? below : Math.max(margin, edge.top - h - 10);
    }
    tip.style.left = `${px}px`;
    tip.style.top = `${py}px`;
  });
  if (!at) return null;
  const slot = slotAt(state.atlas, pointAt(state, at));
  return (
    <div ref={ref} class="tip" aria-hidden="true">
      {slot === 0 ? <p class="cell-name">{pointWords(state, pointAt(state, at))}</p> : <CellName slot={slot} />}
      <Readout slot={slot} brief />
    </div>
  );
}
