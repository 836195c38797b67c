// SPDX-License-Identifier: Apache-2.0
import { Fragment } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { pin, placeOf, pointAt, sideAxis } from "../app-state";
import {
  CELL_MIN,
  type CellPlace,
  cellBox,
  css,
  hit,
  type Layout,
  labelStride,
  layOut,
  type Tile,
} from "../draw/layout";
import { DARK_INKS, LIGHT_INKS } from "../draw/marks";
import { paintMap } from "../draw/tile";
import { placed } from "../lib/arrange";
import { cellNumber } from "../lib/atlas";
import { axisLabel, axisTitle, constantText, levelText, shortLevel } from "../lib/labels";
import { inOneUnit } from "../lib/quantities";
import type { Axis } from "../lib/report-data.gen";
import { useApp } from "./context";
import { FocusCell } from "./FocusCell";
import { Tip } from "./Tip";

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
    const room = (axis: Axis, title: string, most: number) => {
      const letters = axis.levels.map((level) => levelText(axis, level, system).length);
      return Math.min(most, Math.ceil(Math.max(title.length, ...letters) * LETTER) + 10);
    };
    const [yAxis, rowAxis] = [atlas.axes[y], atlas.axes[rows]];
    const left = yAxis ? room(yAxis, "", 120) : 4;
    const right = rowAxis && !shape.flow ? room(rowAxis, axisLabel(rowAxis), 130) : 2;
    return layOut(shape, { left, right }, available, printing ? PRINT_CELL : CELL_MIN);
  }, [atlas, shape, available, printing, system, y, rows]);
  const nameOf = (where: string, axis: Axis | undefined) => (axis ? [`${where} ${axisTitle(axis)}`] : []);
  const named = [
    nameOf("↑", atlas.axes[y]),
    nameOf("→", atlas.axes[x]),
    nameOf(shape.flow ? "tiles:" : "tile columns:", atlas.axes[columns]),
    nameOf(shape.flow ? "tiles:" : "tile rows:", atlas.axes[rows]),
  ].flat();
  return (
    <div class="map-frame" ref={frame}>
      {available > 0 ? (
        <>
          <p class="axis-names">
            {named.map((text) => (
              <span key={text}>{text}</span>
            ))}
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
  const [tipped, setTipped] = useState(false);
  const placeUnder = (event: MouseEvent): CellPlace | null => {
    const box = board.current?.getBoundingClientRect();
    return box ? hit(layout, event.clientX - box.left, event.clientY - box.top) : null;
  };
  const show = (place: CellPlace | null) => {
    state.hovered.value = place;
    setTipped(place !== null);
  };
  const onMove = (event: PointerEvent) => {
    if (event.pointerType === "touch") return;
    const found = placeUnder(event);
    if (JSON.stringify(found) !== JSON.stringify(state.hovered.peek())) show(found);
  };
  const leave = (event: PointerEvent) => {
    // A finger that lifts has not left: its cell's numbers stay until it taps elsewhere.
    if (event.pointerType !== "touch") show(null);
  };
  const onClick = (event: MouseEvent) => {
    const found = placeUnder(event);
    if (found) pin(state, pointAt(state, found));
    // The arrow keys go on from where the pointer was; the cell for them moves there with the next picture.
    const focus = () => board.current?.querySelector<HTMLElement>("[role=gridcell]")?.focus({ preventScroll: true });
    if (found) requestAnimationFrame(focus);
    if ((event as PointerEvent).pointerType === "touch") show(found);
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
      <Frames layout={layout} />
      <FocusCell layout={layout} onTip={setTipped} />
      {tipped ? <Tip layout={layout} /> : null}
    </div>
  );
}

function Tiles({ layout }: { layout: Layout }) {
  const state = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const { atlas } = state;
  const system = state.units.value;
  const reading = state.reading.value;
  const write = inOneUnit(reading.quantity, reading.extent[1], system);
  const paint = {
    atlas,
    reading,
    scale: state.scale.value,
    palette: state.palette.value,
    inks: state.dark.value ? DARK_INKS : LIGHT_INKS,
    number: (v: number) => (Number.isFinite(v) ? write.text(v) : ""),
    outlined: state.outlined.value,
  };
  const { x, y, columns, rows } = state.arrangement.value;
  const fixed = state.fixed.value;
  const { nx, ny } = layout.shape;
  const seen = state.seen.value;
  /** How far a place on an axis of the map lies from its first level, in cells. */
  const offset = (a: number, place: number) => (a < 0 ? 0 : (atlas.strides[a] ?? 0) * (seen[a]?.[place] ?? place));
  useLayoutEffect(() => {
    if (!ref.current) return;
    const onMap = new Set([x, y, columns, rows]);
    const base = cellNumber(
      atlas,
      fixed.map((level, a) => (onMap.has(a) ? 0 : level)),
    );
    const slots = new Int32Array(nx * ny * layout.tiles.length);
    let at = 0;
    for (const tile of layout.tiles) {
      const corner = base + offset(columns, tile.column) + offset(rows, tile.row);
      for (let j = ny - 1; j >= 0; j--) {
        const line = corner + offset(y, j);
        for (let i = 0; i < nx; i++) slots[at++] = atlas.slots[line + offset(x, i)] ?? 0;
      }
    }
    paintMap(ref.current, layout, slots, paint);
  });
  return (
    <>
      <div class="cells" style={css(0, 0, layout.width, layout.height)}>
        <canvas ref={ref} aria-hidden="true" />
      </div>
      {layout.tiles.map((tile) => (
        <i
          key={`${tile.column} ${tile.row}`}
          class="tile"
          style={css(tile.left, tile.top, layout.tileWidth, layout.tileHeight)}
        />
      ))}
    </>
  );
}

/** Tick labels and tile headings; only the labels that fit. */
function Ticks({ layout }: { layout: Layout }) {
  const { atlas, arrangement, units, seen } = useApp();
  const system = units.value;
  const { x, y, columns, rows } = arrangement.value;
  // Only what is seen has a place on the map.
  const [xAxis, yAxis, columnAxis, rowAxis] = [x, y, columns, rows].map((a) => {
    const axis = atlas.axes[a];
    return axis && { ...axis, levels: (seen.value[a] ?? []).map((level) => axis.levels[level] ?? null) };
  });
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
  const fitting = (labels: string[], every: number) => [...labels.entries()].filter(([level]) => level % every === 0);
  const titleOf = (tile: Tile): string => {
    const axis = columnAxis ?? rowAxis;
    return axis ? levelText(axis, axis.levels[columnAxis ? tile.column : tile.row], system) : "";
  };
  // What an operation is needs no name; others have theirs in all titles or, where one has no room for it, in none.
  const titled = columnAxis ?? rowAxis;
  const prefix = titled && axisLabel(titled) !== "Operation" ? `${axisLabel(titled)} ` : "";
  const roomyTitles = layout.tiles.every((tile) => (prefix + titleOf(tile)).length * LETTER <= tileWidth);
  const tickY = (tile: Tile, j: number) => css(0, tile.top + (shape.ny - 0.5 - j) * cellHeight, tile.left - 5);
  const tickX = (tile: Tile, i: number) => css(tile.left + (i + 0.5) * cellWidth, tile.top + tileHeight + 2);
  return (
    <div class="ticks" aria-hidden="true">
      {layout.tiles.map((tile) => (
        <Fragment key={`${tile.column} ${tile.row}`}>
          {heading > 0 && (shape.flow || tile.row === 0) ? (
            <span class="tile-title" style={css(tile.left, tile.top - heading, tileWidth)}>
              {roomyTitles ? prefix : ""}
              {titleOf(tile)}
            </span>
          ) : null}
          {!shape.flow && rowAxis && tile.column === shape.columns - 1 ? (
            <span class="row-title" style={{ ...css(tile.left + tileWidth + 8, tile.top), height: `${tileHeight}px` }}>
              {tile.row === 0 ? <b>{axisLabel(rowAxis)}</b> : null}
              {levelText(rowAxis, rowAxis.levels[tile.row], system)}
            </span>
          ) : null}
          {(tile.edgeLeft ? fitting(yTexts, yEvery) : []).map(([j, text]) => (
            <span key={`y${j}`} class="tick-y" style={tickY(tile, j)}>
              {text}
            </span>
          ))}
          {(tile.edgeBottom ? fitting(xTexts, xEvery) : []).map(([i, text]) => (
            <span key={`x${i}`} class="tick-x" style={tickX(tile, i)}>
              {text}
            </span>
          ))}
        </Fragment>
      ))}
    </div>
  );
}

/** Frames of the pinned cell, and of the one under the pointer, else the pinned one, in the tiles of other sides of a comparison. */
function Frames({ layout }: { layout: Layout }) {
  const state = useApp();
  const pinned = state.pinnedPoint.value;
  const side = sideAxis(state.atlas);
  const point = state.hovered.value ? pointAt(state, state.hovered.value) : pinned;
  const twins =
    point && placed(state.arrangement.value).includes(side)
      ? (state.seen.value[side] ?? []).filter((level) => level !== point[side])
      : [];
  const frames = [
    ...(pinned ? [{ look: "pin", at: pinned }] : []),
    ...twins.map((level) => ({ look: "pin twin", at: point?.with(side, level) ?? [] })),
  ];
  const [width, height] = [`${layout.cellWidth + 4}px`, `${layout.cellHeight + 4}px`];
  return (
    <>
      {frames.map(({ look, at }, i) => {
        const { left, top } = cellBox(layout, placeOf(state, at));
        const style = { translate: `${left}px ${top}px`, width, height };
        return <i key={i} class={look} aria-hidden="true" style={style} />;
      })}
    </>
  );
}
