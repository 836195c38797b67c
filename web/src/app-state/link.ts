// SPDX-License-Identifier: Apache-2.0
// What is seen, as the part of the address behind #: a link opens the page where somebody else looked at it.
import { batch, effect } from "@preact/signals";
import { type Arrangement, placed } from "../lib/arrange";
import type { Atlas } from "../lib/atlas";
import { QUANTITIES, type QuantityId } from "../lib/quantities";
import { type AppState, pin, type View } from ".";
import { hide } from "./filters";

const VIEWS: readonly View[] = ["map", "latency", "time", "table"];
const PLACES: readonly (keyof Arrangement)[] = ["x", "y", "columns", "rows"];

/** Names and values behind #, in their order. Levels are written as they are, so that a link survives a new measurement. */
export function linkOf(state: AppState): string {
  const { atlas, live } = state;
  const words = new URLSearchParams({ view: state.view.value, quantity: state.quantityId.value });
  if (state.scaleChoice.value) words.set("scale", state.scaleChoice.value);
  words.set("units", state.units.value);
  for (const at of PLACES) words.set(at, atlas.axes[state.arrangement.value[at]]?.name ?? "");
  for (const [a, levels] of state.hidden.value) {
    const axis = atlas.axes[a];
    for (const level of axis ? levels : []) words.append(`hide.${axis?.name}`, String(axis?.levels[level]));
  }
  const point = state.pinnedPoint.value;
  for (const a of point ? live : []) {
    const axis = atlas.axes[a];
    if (axis && point) words.set(`cell.${axis.name}`, String(axis.levels[point[a] ?? 0]));
  }
  return `#${words}`;
}

/** Sets what a link says. What this campaign does not have is passed over: the page opens on the rest. */
export function follow(state: AppState, hash: string): void {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const view = VIEWS.find((each) => each === words.get("view"));
  if (!view) return;
  const { atlas } = state;
  batch(() => {
    state.view.value = usable(atlas, view) ? view : "map";
    const quantity = QUANTITIES.find((q) => q.id === words.get("quantity") && atlas.values.has(q.columns[0]));
    if (quantity) state.quantityId.value = quantity.id as QuantityId;
    const scale = words.get("scale");
    state.scaleChoice.value = scale === "linear" || scale === "log" ? scale : null;
    const units = words.get("units");
    if (units === "si" || units === "iec") state.units.value = units;
    const arrangement = arrangementOf(state, words);
    if (arrangement) state.arrangement.value = arrangement;
    const levelOf = (a: number, before: number) => {
      const named = words.get(`cell.${atlas.axes[a]?.name}`);
      const found = atlas.axes[a]?.levels.findIndex((each) => String(each) === named) ?? -1;
      return found < 0 ? before : found;
    };
    const old = state.pinned.value;
    if (old)
      pin(
        state,
        old.map((level, a) => levelOf(a, level)),
      );
    hide(state, hiddenOf(state, words));
  });
}

/** What a link hides, by axis. */
function hiddenOf(state: AppState, words: URLSearchParams): Map<number, Set<number>> {
  return new Map(
    state.live.map((a) => {
      const axis = state.atlas.axes[a];
      const texts = new Set(words.getAll(`hide.${axis?.name}`));
      return [a, new Set(axis?.levels.flatMap((level, i) => (texts.has(String(level)) ? [i] : [])))];
    }),
  );
}

function usable(atlas: Atlas, view: View): boolean {
  if (view === "latency") return atlas.data.latency_curves.n > 0;
  return view !== "time" || atlas.data.time_courses.n > 0;
}

/** The axes of a link on their places; null when it names none across, or one twice. */
function arrangementOf(state: AppState, words: URLSearchParams): Arrangement | null {
  const axis = (at: string) => {
    const name = words.get(at);
    return state.live.find((a) => name !== "" && state.atlas.axes[a]?.name === name) ?? -1;
  };
  const found = { x: axis("x"), y: axis("y"), columns: axis("columns"), rows: axis("rows") };
  const used = placed(found);
  return found.x >= 0 && new Set(used).size === used.length ? found : null;
}

/**
 * Keeps the address in step with what is seen, and what is seen with an address that somebody enters. What it returns
 * ends that.
 */
export function keepLink(state: AppState): () => void {
  if (location.hash) follow(state, location.hash);
  let first = true;
  let waits: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    waits = undefined;
    history.replaceState(null, "", linkOf(state));
  };
  const leave = effect(() => {
    const link = linkOf(state);
    clearTimeout(waits);
    // The page's own address stays bare until the reader changes something. It follows what moves after a moment: each
    // change takes a browser milliseconds, and more than some in a second are refused.
    waits = first || link === location.hash ? undefined : setTimeout(write, 100);
    first = false;
  });
  const entered = () => follow(state, location.hash);
  addEventListener("hashchange", entered);
  return () => {
    leave();
    if (waits !== undefined) {
      clearTimeout(waits);
      write();
    }
    removeEventListener("hashchange", entered);
  };
}
