// SPDX-License-Identifier: Apache-2.0
// The colour scale of values: 256 RGB triples as base64. Viridis (Smith and van der Walt, 2015, CC0) without its darkest,
// as in figures: it reads the same in grey and with colour vision deficiency, and has no grey, which stands for what is
// not believed.

export type PaletteName = "values" | "change";

const VALUES =
  "SBdpSBhqSBpsSBttSBxuSB1vSB9wSB9wSCBxSCFzSCN0SCR1SCV2SCZ3SCh4SCl5Ryp6Ryx6Ry17Ry58Ry99RjB+RjJ+RjN/RjSARjSARTWBRTeBRTiCRDmDRDqDRDuEQz2EQz6FQj+FQkCGQkGGQUKHQUSHQEWIQEaIP0eIP0eIP0iJPkmJPkqJPkyKPU2KPU6KPE+KPFCLO1GLO1KLOlOLOlSMOVWMOVaMOFiMOFmMN1qMN1qMN1uNNlyNNl2NNV6NNV+NNGCNNGGNM2KNM2ONMmSOMmWOMWaOMWeOMWiOMGmOMGqOL2uOL2uOL2yOLm2OLm6OLm+OLXCOLXGOLHGOLHKOLHOOK3SOK3WOKnaOKneOKniOKXmOKXqOKXuOKXuOKHyOKH2OJ36OJ3+OJ4COJoGOJoKOJoKOJYOOJYSOJYWOJIaOJIeOI4iOI4mOI4qNI4qNIouNIoyNIo2NIY6NIY+NIZCNIZGMIJKMIJKMIJOMH5SMH5WLH5aLH5eLH5iLH5mKH5qKH5qKHpuKHpyJHp2JH56JH5+IH6CIH6GIH6GHH6KHIKOGIKSGIaWFIaaFIqeFIqiEI6mDJKqDJKqDJauCJayCJq2BJ62BKK6AKa9/KrB/LLF+LbJ9LrN8L7R8MbV7MrZ6NLZ5Nbd5N7h4OLl3OLl3Orp2O7t1Pbx0P7xzQL1yQr5xRL9wRsBvSMFuSsFtTMJsTsNrUMRqUsVpVMVoVsZnVsZnWMdlWshkXMhjXsliYMpgY8tfZcteZ8xcac1bbM1abs5YcM9Xc9BWddBUd9FTetFRfNJQfNJQf9NOgdNNhNRLhtVJidVIi9ZGjtZFkNdDk9dBldhAmNg+m9k8ndk7oNo5oto3pds2qNs0qNs0qtwyrdwwsN0vst0ttd4ruN4put4ovd8mwN8lwt8jxeAhyOAgyuEfzeEd0OEc0uIb1eIa1eIa2OIZ2uMZ3eMY3+MY4uQY5eQZ5+QZ6uUa7OUb7+Uc8eUd9OYe9uYg+OYh++cj/ecl/ecl";

/** A colour scale ready to paint with. */
export interface Palette {
  /** Colour of each of 256 steps as a little-endian RGBA word, for an ImageData seen as Uint32Array. */
  words: Uint32Array;
  /** Whether black is legible on each step (else white): relative luminance, WCAG 2. */
  light: Uint8Array;
  css(step: number): string;
}

function linear(channel: number): number {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

/** For changes: blue below, pale where nothing changed, orange above; told apart without red and green. */
const CHANGE: readonly (readonly [number, number, number])[] = [
  [9, 52, 104],
  [92, 158, 206],
  [243, 241, 237],
  [232, 150, 84],
  [122, 40, 6],
];

function changeBytes(): Uint8Array {
  const bytes = new Uint8Array(3 * 256);
  for (let step = 0; step < 256; step++) {
    const at = (step / 255) * (CHANGE.length - 1);
    const from = Math.min(CHANGE.length - 2, Math.floor(at));
    for (let channel = 0; channel < 3; channel++) {
      const [a, b] = [CHANGE[from]?.[channel] ?? 0, CHANGE[from + 1]?.[channel] ?? 0];
      bytes[3 * step + channel] = Math.round(a + (b - a) * (at - from));
    }
  }
  return bytes;
}

function load(name: PaletteName): Palette {
  const bytes = name === "change" ? changeBytes() : Uint8Array.from(atob(VALUES), (c) => c.charCodeAt(0));
  const words = new Uint32Array(256);
  const light = new Uint8Array(256);
  const rgb = (step: number) => [bytes[3 * step] ?? 0, bytes[3 * step + 1] ?? 0, bytes[3 * step + 2] ?? 0] as const;
  for (let step = 0; step < 256; step++) {
    const [r, g, b] = rgb(step);
    words[step] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
    // Black and white have equal contrast at a luminance of 0.179.
    light[step] = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.179 ? 1 : 0;
  }
  return { words, light, css: (step) => `rgb(${rgb(step).join(" ")})` };
}

const loaded = new Map<PaletteName, Palette>();

export function palette(name: PaletteName): Palette {
  let found = loaded.get(name);
  if (!found) {
    found = load(name);
    loaded.set(name, found);
  }
  return found;
}
