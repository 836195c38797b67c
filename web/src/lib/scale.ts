// SPDX-License-Identifier: Apache-2.0
// The one colour scale all tiles share.
export type ScaleKind = "linear" | "log";

export interface Scale {
  kind: ScaleKind;
  from: number;
  to: number;
  /** 0 to 1, clamped; NaN for what has no place (unknown, or not positive on a log scale). */
  place(value: number): number;
  at(place: number): number;
}

/** A scale over [low, high]. Linear scales start at zero, so that half the colour is half the value. */
export function makeScale(kind: ScaleKind, low: number, high: number): Scale {
  const clamp = (p: number) => Math.max(0, Math.min(1, p));
  if (kind === "log" && high > 0) {
    const to = high;
    const from = Math.min(low > 0 ? low : high / 1e6, high / 1.0001);
    const span = Math.log(to / from);
    return {
      kind,
      from,
      to,
      place: (v) => (v > 0 ? clamp(Math.log(v / from) / span) : Number.NaN),
      at: (p) => from * Math.exp(p * span),
    };
  }
  const from = Math.min(0, low);
  const to = high > from ? high : from + 1;
  return { kind: "linear", from, to, place: (v) => clamp((v - from) / (to - from)), at: (p) => from + p * (to - from) };
}

/** Log when a quarter of the values would share the darkest thirtieth of a linear scale and could not be told apart. */
export function fittingKind(values: Float64Array, extent: readonly [number, number]): ScaleKind {
  const [least, most] = extent;
  if (!(least > 0)) return "linear";
  const known = values.filter((v) => !Number.isNaN(v));
  return known.filter((v) => v < most / 30).length * 4 > known.length ? "log" : "linear";
}

/** Round values to label the scale with; `base` 1024 for bytes in IEC units. At most about `most`. */
export function ticks(scale: Scale, base: number, most: number): number[] {
  const out: number[] = [];
  if (scale.kind === "linear") {
    const span = scale.to - scale.from;
    if (!(span > 0)) return [scale.from];
    const raw = span / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step =
      base === 1024 ? 2 ** Math.ceil(Math.log2(raw)) : ([1, 2, 5, 10].find((m) => m * power >= raw) ?? 10) * power;
    for (let v = Math.ceil(scale.from / step) * step; v <= scale.to * 1.0001; v += step) out.push(v);
    return out;
  }
  // Powers of ten or four; where they are too few, closer steps.
  const [big, wide, close] =
    base === 1024
      ? [1024, [1, 4, 16, 64, 256], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]]
      : [1000, [1, 10, 100], [1, 2, 5, 10, 20, 50, 100, 200, 500]];
  const among = (multiples: readonly number[]) => {
    const [first = 0, last = 0] = [scale.from, scale.to].map((v) => Math.floor(Math.log(v) / Math.log(big)));
    const units = Array.from({ length: last - first + 1 }, (_, i) => big ** (first + i));
    const all = units.flatMap((unit) => multiples.map((m) => unit * m));
    return all.filter((v) => v >= scale.from * 0.999 && v <= scale.to * 1.001);
  };
  const found = among(wide);
  const round = found.length > 2 ? found : among(close);
  const stride = Math.ceil(round.length / most);
  const kept = round.filter((_, i) => i % stride === 0);
  return kept.length > 1 ? kept : [scale.from, scale.to];
}

/** Ticks as a chart draws them: where each lies, and what stands there. As `ticks`. */
export function placedTicks(
  scale: Scale,
  base: number,
  most: number,
  place: (value: number) => number,
  text: (value: number) => string,
): { at: number; text: string }[] {
  return ticks(scale, base, most).map((value) => ({ at: place(value), text: text(value) }));
}

/** A tick's text without needless zeros, which changes of a comparison have: "2 times" for "2.00 times". */
export function tickText(text: string): string {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}
