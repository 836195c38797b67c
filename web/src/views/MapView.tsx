// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { pin, placeOf, pointAt } from "../app-state";
import {
  CELL_MIN,
  type CellPlace,
  cellBox,
  hit,
  type Layout,
  labelStride,
  layOut,
  step,
  type Tile,
  tileAt,
} from "../draw/layout";
import { DARK_INKS, LIGHT_INKS } from "../draw/marks";
import { type Paint, paintTile } from "../draw/tile";
import { cellNumber, slotAt } from "../lib/atlas";
import { factsAt, spoken } from "../lib/facts";
import { axisLabel, axisTitle, cellLabel, constantText, levelText, shortLevel } from "../lib/labels";
import { palette } from "../lib/palettes";
import type { Axis } from "../lib/report-data.gen";
import { useApp } from "./context";
import { CellName, Readout } from "./Readout";

const LETTER = 6.4;
const PRINT_WIDTH = 690;
/** On paper nothing has to be hit with a finger. */
const PRINT_CELL = 2;

/** The tiled heat map: pictures on canvases, one focusable cell that the arrow keys move. */
export function MapView() {
  const state = useApp();
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => {
      if (!state.printing.peek()) setWidth(element.clientWidth);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [state]);
  const { atlas } = state;
  const system = state.units.value;
  const { x, y, columns, rows } = state.arrangement.value;
  const shape = state.shape.value;
  const printing = state.printing.value;
  const available = printing ? PRINT_WIDTH : width;
  const layout = useMemo(() => {
    const room = (axis: Axis | undefined, title: string, most: number) =>
      Math.min(
        most,
        Math.max(
          title.length,
          ...(axis?.levels ?? []).map((level) => (axis ? levelText(axis, level, system).length : 0)),
        ) *
          LETTER +
          10,
      );
    const [yAxis, rowAxis] = [atlas.axes[y], atlas.axes[rows]];
    const left = yAxis ? room(yAxis, "", 120) : 4;
    const right = rowAxis && !shape.flow ? room(rowAxis, axisLabel(rowAxis), 130) : 2;
    return layOut(shape, { left, right }, available, printing ? PRINT_CELL : CELL_MIN);
  }, [atlas, shape, available, printing, system, y, rows]);
  const named = [
    ["↑", y],
    ["→", x],
    [shape.flow ? "tiles:" : "tile columns:", columns],
    [shape.flow ? "tiles:" : "tile rows:", rows],
  ] as const;
  return (
    <div class="map-frame" ref={frame}>
      {available > 0 ? (
        <>
          <p class="axis-names">
            {named.map(([where, a]) => {
              const axis = atlas.axes[a];
              return axis ? (
                <span key={axis.name}>
                  {where} {axisTitle(axis)}
                </span>
              ) : null;
            })}
          </p>
          <div class="map-scroll">
            <Canvas layout={layout} />
          </div>
          {atlas.data.constants.length > 0 ? (
            <p class="constants">
              Every cell:{" "}
              {atlas.data.constants.map((each) => (
                <span key={each.name}>
                  {each.name}&nbsp;{constantText(each, system)}
                </span>
              ))}
            </p>
          ) : null}
        </>
      ) : null}
    </div>
  );
}

function Canvas({ layout }: { layout: Layout }) {
  const state = useApp();
  const board = useRef<HTMLDivElement>(null);
  const [tipAt, setTipAt] = useState<"pointer" | "keyboard" | null>(null);
  const placeUnder = (event: MouseEvent): CellPlace | null => {
    const box = board.current?.getBoundingClientRect();
    return box ? hit(layout, event.clientX - box.left, event.clientY - box.top) : null;
  };
  const onMove = (event: PointerEvent) => {
    if (event.pointerType === "touch") return;
    const at = placeUnder(event);
    const old = state.hovered.peek();
    if (at?.x === old?.x && at?.y === old?.y && at?.column === old?.column && at?.row === old?.row) return;
    state.hovered.value = at;
    setTipAt(at ? "pointer" : null);
  };
  const leave = (event: PointerEvent) => {
    // A finger that lifts has not left: its cell's numbers stay until it taps elsewhere.
    if (event.pointerType === "touch") return;
    state.hovered.value = null;
    setTipAt(null);
  };
  const onClick = (event: MouseEvent) => {
    const at = placeUnder(event);
    if (at) pin(state, pointAt(state, at));
    if ((event as PointerEvent).pointerType !== "touch") return;
    state.hovered.value = at;
    setTipAt(at ? "pointer" : null);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer's way; the grid inside is the keyboard's
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid inside takes the keys
    <div
      ref={board}
      class="board"
      style={{ width: `${layout.width}px`, height: `${layout.height}px` }}
      onPointerMove={onMove}
      onPointerLeave={leave}
      onClick={onClick}
    >
      <Tiles layout={layout} />
      <Ticks layout={layout} />
      <PinFrame layout={layout} />
      <FocusCell layout={layout} onTip={(on) => setTipAt(on ? "keyboard" : null)} />
      {tipAt ? <Tip layout={layout} /> : null}
    </div>
  );
}

function Tiles({ layout }: { layout: Layout }) {
  const state = useApp();
  const { atlas } = state;
  const system = state.units.value;
  const reading = state.reading.value;
  const quantity = reading.quantity;
  const paint: Paint = {
    atlas,
    reading,
    scale: state.scale.value,
    palette: palette(state.paletteName.value),
    inks: state.dark.value ? DARK_INKS : LIGHT_INKS,
    number: (v) => (Number.isFinite(v) ? quantity.format(v, system).replace(/B\/s$/, "") : ""),
    outlined: state.outlined.value,
  };
  const { x, y, columns, rows } = state.arrangement.value;
  const fixed = state.fixed.value;
  const { nx, ny } = layout.shape;
  const stride = (a: number) => (a < 0 ? 0 : (atlas.strides[a] ?? 0));
  const base = cellNumber(
    atlas,
    fixed.map((level, a) => (a === x || a === y || a === columns || a === rows ? 0 : level)),
  );
  const slotsOf = (tile: Tile): Int32Array => {
    const slots = new Int32Array(nx * ny);
    const corner = base + tile.column * stride(columns) + tile.row * stride(rows);
    for (let j = 0; j < ny; j++) {
      for (let i = 0; i < nx; i++)
        slots[(ny - 1 - j) * nx + i] = atlas.slots.get(corner + i * stride(x) + j * stride(y));
    }
    return slots;
  };
  return (
    <>
      {layout.tiles.map((tile) => (
        <TileCanvas
          key={`${tile.column} ${tile.row}`}
          layout={layout}
          tile={tile}
          slots={slotsOf(tile)}
          paint={paint}
        />
      ))}
    </>
  );
}

function TileCanvas({ layout, tile, slots, paint }: { layout: Layout; tile: Tile; slots: Int32Array; paint: Paint }) {
  const ref = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (!ref.current) return;
    paintTile(
      ref.current,
      { nx: layout.shape.nx, ny: layout.shape.ny, cellWidth: layout.cellWidth, cellHeight: layout.cellHeight, slots },
      paint,
    );
  });
  return (
    <canvas
      ref={ref}
      class="tile"
      aria-hidden="true"
      style={{
        left: `${tile.left}px`,
        top: `${tile.top}px`,
        width: `${layout.tileWidth}px`,
        height: `${layout.tileHeight}px`,
      }}
    />
  );
}

/** Tick labels and tile headings; only the labels that fit. */
function Ticks({ layout }: { layout: Layout }) {
  const { atlas, arrangement, units } = useApp();
  const system = units.value;
  const { x, y, columns, rows } = arrangement.value;
  const [xAxis, yAxis] = [atlas.axes[x], atlas.axes[y]];
  const { shape, cellWidth, cellHeight, tileWidth, tileHeight, heading } = layout;
  const texts = (axis: typeof xAxis, short: boolean) =>
    (axis?.levels ?? []).map((level) => (axis ? (short ? shortLevel : levelText)(axis, level, system) : ""));
  const widthOf = (labels: string[]) => Math.max(0, ...labels.map((label) => label.length)) * LETTER + 8;
  const long = texts(xAxis, false);
  const roomy = widthOf(long) <= cellWidth * 2;
  const xTexts = roomy ? long : texts(xAxis, true);
  const xEvery = labelStride(shape.nx, cellWidth, widthOf(xTexts));
  const yTexts = texts(yAxis, false);
  const yEvery = labelStride(shape.ny, cellHeight, 13);
  const columnAxis = atlas.axes[columns];
  const rowAxis = atlas.axes[rows];
  const titleOf = (tile: Tile): string => {
    const parts: string[] = [];
    if (columnAxis)
      parts.push(`${axisLabel(columnAxis)} ${levelText(columnAxis, columnAxis.levels[tile.column], system)}`);
    else if (rowAxis) parts.push(`${axisLabel(rowAxis)} ${levelText(rowAxis, rowAxis.levels[tile.row], system)}`);
    return parts.join(", ");
  };
  const shortTitle = (tile: Tile) => titleOf(tile).replace(/^.* (?=\S+( \S+)?$)/, "");
  return (
    <div class="ticks" aria-hidden="true">
      {layout.tiles.map((tile) => (
        <>
          {heading > 0 && (shape.flow || tile.row === 0) ? (
            <span
              class="tile-title"
              style={{ left: `${tile.left}px`, top: `${tile.top - heading}px`, width: `${tileWidth}px` }}
            >
              {titleOf(tile).length * LETTER <= tileWidth
                ? titleOf(tile)
                : columnAxis
                  ? levelText(columnAxis, columnAxis.levels[tile.column], system)
                  : shortTitle(tile)}
            </span>
          ) : null}
          {!shape.flow && rowAxis && tile.column === shape.columns - 1 ? (
            <span
              class="row-title"
              style={{ left: `${tile.left + tileWidth + 8}px`, top: `${tile.top}px`, height: `${tileHeight}px` }}
            >
              {tile.row === 0 ? <b>{axisLabel(rowAxis)}</b> : null}
              {levelText(rowAxis, rowAxis.levels[tile.row], system)}
            </span>
          ) : null}
          {tile.edgeLeft && yAxis
            ? yTexts.map((text, j) =>
                j % yEvery === 0 ? (
                  <span
                    key={text}
                    class="tick-y"
                    style={{
                      top: `${tile.top + (shape.ny - 1 - j + 0.5) * cellHeight}px`,
                      left: "0",
                      width: `${tile.left - 5}px`,
                    }}
                  >
                    {text}
                  </span>
                ) : null,
              )
            : null}
          {tile.edgeBottom && xAxis
            ? xTexts.map((text, i) =>
                i % xEvery === 0 ? (
                  <span
                    key={text}
                    class="tick-x"
                    style={{ left: `${tile.left + (i + 0.5) * cellWidth}px`, top: `${tile.top + tileHeight + 2}px` }}
                  >
                    {text}
                  </span>
                ) : null,
              )
            : null}
        </>
      ))}
    </div>
  );
}

function PinFrame({ layout }: { layout: Layout }) {
  const state = useApp();
  const point = state.pinnedPoint.value;
  if (!point) return null;
  const place = placeOf(state, point);
  if (!tileAt(layout, place.column, place.row)) return null;
  const { left, top } = cellBox(layout, place);
  return (
    <i
      class="pin"
      aria-hidden="true"
      style={{
        left: `${left - 2}px`,
        top: `${top - 2}px`,
        width: `${layout.cellWidth + 4}px`,
        height: `${layout.cellHeight + 4}px`,
      }}
    />
  );
}

const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** The map for the keyboard and for screen readers: a grid of which one cell, the focused one, is present at a time. */
function FocusCell({ layout, onTip }: { layout: Layout; onTip: (on: boolean) => void }) {
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
          style={{
            left: `${tile ? box.left : 0}px`,
            top: `${tile ? box.top : 0}px`,
            width: `${layout.cellWidth}px`,
            height: `${layout.cellHeight}px`,
          }}
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

function pointWords(state: ReturnType<typeof useApp>, point: readonly number[]): string {
  const { atlas } = state;
  const slot = slotAt(atlas, point);
  const parts =
    slot !== 0
      ? cellLabel(atlas, slot, state.units.value).map((part) => `${part.name} ${part.text}`)
      : state.live.map((a) => {
          const axis = atlas.axes[a];
          return axis ? `${axisLabel(axis)} ${levelText(axis, axis.levels[point[a] ?? 0], state.units.value)}` : "";
        });
  return parts.join(", ") || "The only cell";
}

/** The numbers of the cell under the pointer or focus, beside it and inside the window. */
function Tip({ layout }: { layout: Layout }) {
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
    let px = origin.left + left + layout.cellWidth + 10;
    if (px + w > window.innerWidth - margin) px = origin.left + left - w - 10;
    px = Math.max(margin, Math.min(px, window.innerWidth - w - margin));
    let py = origin.top + top + layout.cellHeight / 2 - h / 2;
    py = Math.max(margin, Math.min(py, window.innerHeight - h - margin));
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
