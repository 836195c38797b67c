// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import { pointAt } from "../app-state";
import { slotAt } from "../lib/atlas";
import { inOneUnit, readAt } from "../lib/quantities";
import { ticks, tickText } from "../lib/scale";
import { useApp } from "./context";

/** The shared scale, with the cell under the pointer (else the pinned one) and its interval on it. */
export function ColorBar() {
  const state = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const palette = state.palette.value;
  const { scale, reading } = state;
  const quantity = state.quantity.value;
  const system = state.units.value;
  useLayoutEffect(() => {
    const c = ref.current?.getContext("2d");
    if (!c) return;
    const image = new ImageData(256, 1);
    new Uint32Array(image.data.buffer).set(palette.words);
    c.putImageData(image, 0, 0);
  }, [palette]);
  const hovered = state.hovered.value;
  const slot = hovered ? slotAt(state.atlas, pointAt(state, hovered)) : state.pinnedSlot.value;
  const { value, low, high } = readAt(reading.value, slot);
  const [place = 0, from = 0, to = 0] = [value, low, high].map(scale.value.place);
  const format = (v: number) => quantity.format(v, system);
  const write = inOneUnit(quantity, reading.value.extent[1], system);
  const marks =
    quantity.id === "change"
      ? [0, 0.25, 0.5, 0.75, 1].map((share) => scale.value.at(share))
      : ticks(scale.value, quantity.inBytes && system === "iec" ? 1024 : 10, 7);
  return (
    <figure class="bar">
      <figcaption>
        {quantity.label}
        <span class="soft">
          {write.unit ? ` ${write.unit}, ` : " "}
          {scale.value.kind === "log" ? "log scale" : "linear scale"}, one for all tiles
        </span>
      </figcaption>
      <div class="bar-body">
        <canvas
          ref={ref}
          width="256"
          height="1"
          role="img"
          aria-label={`Colour scale of ${quantity.label}, from ${format(scale.value.from)} to ${format(scale.value.to)}`}
        />
        {Number.isFinite(place) ? (
          <>
            {Number.isFinite(from) && Number.isFinite(to) ? (
              <i class="bar-range" style={{ left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%` }} />
            ) : null}
            <i class="bar-needle" style={{ left: `${place * 100}%` }} />
          </>
        ) : null}
        <div class="bar-ticks" aria-hidden="true">
          {marks.map((v) => {
            const p = scale.value.place(v);
            return (
              <span key={v} class={p > 0.94 ? "end" : p < 0.04 ? "start" : ""} style={{ left: `${p * 100}%` }}>
                {tickText(write.text(v))}
              </span>
            );
          })}
        </div>
      </div>
    </figure>
  );
}
