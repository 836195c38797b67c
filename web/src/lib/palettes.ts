// SPDX-License-Identifier: Apache-2.0
// The two colour scales: 256 RGB triples each, as base64.
// cividis: Nunez, Anderton, Renslow, PLOS ONE 13(7), 2018 (reads the same with and without colour vision deficiency).
// viridis: Smith and van der Walt, 2015 (CC0).

export type PaletteName = "cividis" | "viridis";

const TABLES: Record<PaletteName, string> = {
  cividis:
    "ACJOACNPACRRACVTACVUACZWACdYAChZAChbACldACpfACphACtiACxkACxmAC1oAC5qAC5sAC9tADBvADBwADFwADFxATJxBTNxCDNwDDRwDzVwEjVwFDZwFjdwGDdvGjhvHDlvHjpvIDpvITtuIzxuJDxuJj1uJz5uKT9uKj9tK0BtLUFtLkFtL0JtMUNtMkNtM0RtNEVsNUVsNkZsOEdsOUhsOkhsO0lsPEpsPUpsPktsP0xsQExsQU1sQk5sQ05sRE9sRVBsRlFsR1FsSFJsSVNsSlNsS1RsTFVsTVVsTlZsT1dsUFdsUVhtUlltU1ptVFptVVttVVxtVlxtV11tWF5tWV5uWl9uW2BuXGFuXWFuXmJuXmNvX2NvYGRvYWVvYmVvY2ZwZGdwZWhwZWhwZmlwZ2pxaGpxaWtxamxxa21ybG1ybG5ybW9ybm9zb3BzcHFzcXJ0cnJ0cnN0c3R1dHR1dXV1dnZ2d3d2d3d3eHh3eXl3enp4e3p4fHt4fXx4fnx4fn14f354gH94gX94goB5g4F5hIJ5hYJ5hoN5h4R4iIV4iYV4ioZ4i4d4jIh4jYh4jol4j4p4kIt4kYt4kox4ko14k454lI53lY93lpB3l5F3mJJ3mZJ3mpN2m5R2nJV2nZV2npZ2n5d1oJh1oZl1opl1o5p0pJt0pZx0ppx0p51zqJ5zqZ9zqqBzq6ByrKFyraJyrqNxr6RxsKVxsaVws6ZwtKdvtahvtqlvt6luuKpuuattuqxtu61tvK5sva5svq9rv7BrwLFqwbJqwrNpw7NpxLRoxbVoxrZnx7dnyLhmyblly7llzLpkzbtjzrxjz71i0L5i0b9h0sBg08Bf1MFf1cJe1sNd18Rc2cVc2sZb28da3MhZ3chY3slY38pX4MtW4cxV4s1U5M5T5c9S5tBR59FQ6NJP6dNO6tNM69RL7dVK7tZJ79dI8NhG8dlF8tpE89tC9dxB9t0/994++N88+eA6++E4/OI2/eM0/uQ0/uU1/uY2/ug4",
  viridis:
    "RAFURAJWRQRXRQVZRgdaRghcRgpdRgteRw1gRw5hRxBjRxFkRxNlSBRnSBZoSBdpSBhqSBpsSBttSBxuSB1vSB9wSCBxSCFzSCN0SCR1SCV2SCZ3SCh4SCl5Ryp6Ryx6Ry17Ry58Ry99RjB+RjJ+RjN/RjSARTWBRTeBRTiCRDmDRDqDRDuEQz2EQz6FQj+FQkCGQkGGQUKHQUSHQEWIQEaIP0eIP0iJPkmJPkqJPkyKPU2KPU6KPE+KPFCLO1GLO1KLOlOLOlSMOVWMOVaMOFiMOFmMN1qMN1uNNlyNNl2NNV6NNV+NNGCNNGGNM2KNM2ONMmSOMmWOMWaOMWeOMWiOMGmOMGqOL2uOL2yOLm2OLm6OLm+OLXCOLXGOLHGOLHKOLHOOK3SOK3WOKnaOKneOKniOKXmOKXqOKXuOKHyOKH2OJ36OJ3+OJ4COJoGOJoKOJoKOJYOOJYSOJYWOJIaOJIeOI4iOI4mOI4qNIouNIoyNIo2NIY6NIY+NIZCNIZGMIJKMIJKMIJOMH5SMH5WLH5aLH5eLH5iLH5mKH5qKHpuKHpyJHp2JH56JH5+IH6CIH6GIH6GHH6KHIKOGIKSGIaWFIaaFIqeFIqiEI6mDJKqDJauCJayCJq2BJ62BKK6AKa9/KrB/LLF+LbJ9LrN8L7R8MbV7MrZ6NLZ5Nbd5N7h4OLl3Orp2O7t1Pbx0P7xzQL1yQr5xRL9wRsBvSMFuSsFtTMJsTsNrUMRqUsVpVMVoVsZnWMdlWshkXMhjXsliYMpgY8tfZcteZ8xcac1bbM1abs5YcM9Xc9BWddBUd9FTetFRfNJQf9NOgdNNhNRLhtVJidVIi9ZGjtZFkNdDk9dBldhAmNg+m9k8ndk7oNo5oto3pds2qNs0qtwyrdwwsN0vst0ttd4ruN4put4ovd8mwN8lwt8jxeAhyOAgyuEfzeEd0OEc0uIb1eIa2OIZ2uMZ3eMY3+MY4uQY5eQZ5+QZ6uUa7OUb7+Uc8eUd9OYe9uYg+OYh++cj/ecl",
};

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

function load(name: PaletteName | "change"): Palette {
  const bytes = name === "change" ? changeBytes() : Uint8Array.from(atob(TABLES[name]), (c) => c.charCodeAt(0));
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

const loaded = new Map<PaletteName | "change", Palette>();

export function palette(name: PaletteName | "change"): Palette {
  let found = loaded.get(name);
  if (!found) {
    found = load(name);
    loaded.set(name, found);
  }
  return found;
}
