// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect, useRef } from "preact/hooks";
import { DARK_INKS, drawMark, LIGHT_INKS } from "../draw/marks";
import { DOUBTED, type Mark } from "../lib/atlas";
import { PALETTES } from "../lib/palettes";
import { useApp } from "./context";

const STEP = 150;
const SIZE = 16;

/** A cell as the map draws it, to explain its mark. */
export function Swatch({ mark }: { mark: Mark }) {
  const state = useApp();
  const ref = useRef<HTMLCanvasElement>(null);
  const dark = state.dark.value;
  useLayoutEffect(() => {
    const canvas = ref.current;
    const c = canvas?.getContext("2d");
    if (!canvas || !c) return;
    const ratio = Math.max(1, window.devicePixelRatio || 1);
    canvas.width = SIZE * ratio;
    canvas.height = SIZE * ratio;
    c.scale(ratio, ratio);
    const inks = dark ? DARK_INKS : LIGHT_INKS;
    const colours = PALETTES.values;
    c.fillStyle = DOUBTED.has(mark) ? inks.grey : colours.css(STEP);
    c.fillRect(0, 0, SIZE, SIZE);
    const ink = colours.light[STEP] ? "rgb(0 0 0 / 0.72)" : "rgb(255 255 255 / 0.85)";
    drawMark(c, mark, { x: 0, y: 0, w: SIZE, h: SIZE }, DOUBTED.has(mark) ? inks.line : ink, inks);
  }, [mark, dark]);
  return <canvas ref={ref} class="swatch" style={{ width: `${SIZE}px`, height: `${SIZE}px` }} aria-hidden="true" />;
}
