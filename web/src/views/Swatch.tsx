// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import { DARK_INKS, drawMark, LIGHT_INKS } from "../draw/marks";
import { DOUBTED, type Mark } from "../lib/atlas";
import { palette } from "../lib/palettes";
import { useApp } from "./context";

const STEP = 150;

/** A cell as the map draws it, to explain its mark. */
export function Swatch({ mark, size = 16 }: { mark: Mark; size?: number }) {
  const state = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const dark = state.dark.value;
  useLayoutEffect(() => {
    const canvas = ref.current;
    const c = canvas?.getContext("2d");
    if (!canvas || !c) return;
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    canvas.width = size * ratio;
    canvas.height = size * ratio;
    c.scale(ratio, ratio);
    const inks = dark ? DARK_INKS : LIGHT_INKS;
    const colours = palette("values");
    c.fillStyle = DOUBTED.has(mark) ? inks.grey : colours.css(STEP);
    c.fillRect(0, 0, size, size);
    const ink = colours.light[STEP] ? "rgb(0 0 0 / 0.72)" : "rgb(255 255 255 / 0.85)";
    drawMark(c, mark, 0, 0, size, size, DOUBTED.has(mark) ? inks.line : ink, inks);
  }, [mark, size, dark]);
  return <canvas ref={ref} class="swatch" style={{ width: `${size}px`, height: `${size}px` }} aria-hidden="true" />;
}
