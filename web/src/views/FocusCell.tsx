// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import { pin, placeOf, pointAt } from "../app-state";
import { type CellPlace, cellBox, css, type Layout, step, tileAt } from "../draw/layout";
import { cellNumber, slotAt } from "../lib/atlas";
import { factsAt, spoken } from "../lib/facts";
import { useApp } from "./context";
import { pointWords } from "./Tip";

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** The map for the keyboard and for screen readers: a grid of which one cell, the focused one, is present at a time. */
export function FocusCell({ layout, onTip }: { layout: Layout; onTip: (on: boolean) => void }) {
  const state = useApp();
  const { atlas } = state;
  const cell = useRef<HTMLDivElement>(null);
  const moved = useRef(false);
  const place = placeOf(state, state.cursor.value);
  const point = pointAt(state, place);
  const slot = slotAt(atlas, point);
  const system = state.units.value;
  const { shape } = layout;
  const box = cellBox(layout, place);
  const where = pointWords(state, point);
  const key = `${place.column}.${place.row}.${place.x}.${place.y}`;
  // In the same turn as the picture: keys that follow quickly must find the new cell focused.
  useLayoutEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    cell.current?.focus({ preventScroll: true });
    cell.current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [key]);
  const go = (next: CellPlace) => {
    moved.current = true;
    state.cursor.value = pointAt(state, next);
    state.hovered.value = next;
    onTip(true);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const arrow = ARROWS[event.key];
    const inTile = event.ctrlKey || event.metaKey;
    if (arrow) go(inTile ? tileStep(layout, place, arrow) : step(layout, place, ...arrow));
    else if (event.key === "Home") go({ ...place, x: 0 });
    else if (event.key === "End") go({ ...place, x: shape.nx - 1 });
    else if (event.key === "PageUp") go(tileStep(layout, place, [0, 1]));
    else if (event.key === "PageDown") go(tileStep(layout, place, [0, -1]));
    else if (event.key === "Enter" || event.key === " ") pin(state, point);
    else if (event.key === "Escape") {
      state.hovered.value = null;
      onTip(false);
    } else return;
    event.preventDefault();
  };
  const pinned = state.pinnedPoint.value;
  const isPinned = pinned ? cellNumber(atlas, pinned) === cellNumber(atlas, point) : false;
  const tile = tileAt(layout, place.column, place.row);
  const line = Math.floor((place.row * shape.columns + place.column) / layout.perLine);
  const along = (place.row * shape.columns + place.column) % layout.perLine;
  return (
    <div
      role="grid"
      class="focus-grid"
      aria-label={`Map of ${state.quantity.value.label}. Arrow keys move between cells and tiles, Control with an arrow key moves by tiles, Enter shows the cell's details.`}
      aria-rowcount={Math.ceil(layout.tiles.length / layout.perLine) * shape.ny}
      aria-colcount={layout.perLine * shape.nx}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive: focus belongs to its cell */}
      <div role="row" aria-rowindex={line * shape.ny + (shape.ny - place.y)}>
        <div
          key={key}
          ref={cell}
          role="gridcell"
          tabIndex={0}
          class="focus-cell"
          aria-colindex={along * shape.nx + place.x + 1}
          aria-selected={isPinned}
          aria-label={spoken(factsAt(atlas, slot, system), where)}
          style={css(tile ? box.left : 0, tile ? box.top : 0, layout.cellWidth, layout.cellHeight)}
          onKeyDown={onKeyDown}
          onFocus={(event) => {
            if (!event.currentTarget.matches(":focus-visible")) return;
            state.hovered.value = place;
            onTip(true);
          }}
          onBlur={() => {
            if (moved.current) return;
            state.hovered.value = null;
            onTip(false);
          }}
        />
      </div>
    </div>
  );
}

function tileStep(layout: Layout, at: CellPlace, [dx, dy]: readonly [number, number]): CellPlace {
  const { nx, ny } = layout.shape;
  const edge = { ...at, x: dx > 0 ? nx - 1 : dx < 0 ? 0 : at.x, y: dy > 0 ? ny - 1 : dy < 0 ? 0 : at.y };
  const over = step(layout, edge, dx, dy);
  return over === edge ? at : { ...over, x: at.x, y: at.y };
}
