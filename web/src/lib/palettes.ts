// SPDX-License-Identifier: Apache-2.0
// The colour scales, each from a few colours with what lies between them.

/** Viridis (Smith and van der Walt, 2015, CC0) without its darkest, as in figures: it reads the same in grey and with colour vision deficiency, and has no grey, which stands for what is not believed. */
const VALUES =
  "481769 482979 443a83 3e4a89 375a8c 30698e 2a768e 25838e 21918c 1f9e89 25ab82 37b878 50c46a 6ece58 " +
  "90d743 b5de2b dae319 fde725";

/** For changes: blue below, pale where nothing changed, orange above; told apart without red and green. */
const CHANGE = "093468 5c9ece f3f1ed e89654 7a2806";

/** A colour scale ready to paint with. */
export interface Palette {
  /** Colour of each of 256 steps as a little-endian RGBA word, for an ImageData seen as Uint32Array. */
  words: Uint32Array;
  /** Whether black is legible on each step (else white): relative luminance, WCAG 2. */
  light: boolean[];
  css(step: number): string;
}

function linear(channel: number): number {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

function load(colours: string): Palette {
  const stops = colours.split(" ").map((hex) => [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)));
  const rgb = Array.from({ length: 256 }, (_, step) => {
    const at = (step / 255) * (stops.length - 1);
    const [from = [], to = from] = stops.slice(Math.floor(at));
    return from.map((a, channel) => Math.round(a + ((to[channel] ?? a) - a) * (at % 1)));
  });
  const words = Uint32Array.from(rgb, ([r = 0, g = 0, b = 0]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  // Black and white have equal contrast at a luminance of 0.179.
  const light = rgb.map(
    ([r = 0, g = 0, b = 0]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.179,
  );
  return { words, light, css: (step) => `rgb(${rgb[step]?.join(" ")})` };
}

export const PALETTES = { values: load(VALUES), change: load(CHANGE) };
