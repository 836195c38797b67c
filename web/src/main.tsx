// SPDX-License-Identifier: Apache-2.0
import { options, render } from "preact";
import { type AppState, makeState } from "./app-state";
import { follow, keepLink, linkOf } from "./app-state/link";
import { followCampaign } from "./app-state/running";
import { openAtlas } from "./lib/atlas";
import { openLatencies } from "./lib/latencies";
import type { ReportData } from "./lib/report-data.gen";
import { App } from "./views/App";
import { AppContext } from "./views/context";
import { settled } from "./views/Later";
import "./style/base.css";
import "./style/controls.css";
import "./style/explorer.css";
import "./style/tables.css";
import "./style/charts.css";
import "./style/summary.css";
// Last: what depends on the width, on motion and on paper overrules what stands above.
import "./style/media.css";

const NARROW_PX = 720;

const DARK = matchMedia("(prefers-color-scheme: dark)");
const PRINT = matchMedia("print");

/** Follows the system's theme and the printer: paper is always light, and pictures are repainted before it is drawn. */
function followMedia(now: () => AppState): void {
  DARK.addEventListener("change", () => {
    now().systemDark.value = DARK.matches;
  });
  const later = options.debounceRendering;
  const print = (on: boolean) => {
    // The printed page is taken as soon as the listeners return: render at once instead of in the next frame.
    options.debounceRendering = (flush: () => void) => flush();
    now().printing.value = on;
    if (later) options.debounceRendering = later;
    else delete (options as { debounceRendering?: unknown }).debounceRendering;
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  PRINT.addEventListener("change", () => print(PRINT.matches));
}

async function start(): Promise<void> {
  if (!CSS.supports("color", "light-dark(red, red)")) {
    throw new Error("this browser is too old for it: Chromium 123, Firefox 120 and Safari 17.5 are recent enough");
  }
  const root = document.getElementById("ioatlas");
  const element = document.getElementById("ioatlas-data");
  if (!root || !element) throw new Error("this page lacks its data");
  let shown: AppState | null = null;
  let leave: (() => void) | null = null;
  const show = async (data: ReportData) => {
    const state = makeState(await openAtlas(data), window.innerWidth < NARROW_PX);
    const rest = async () => {
      settled.value = true;
      state.atlas.latencies.value = await openLatencies(data);
    };
    const first = shown === null;
    if (!first) await rest(); // a page that is followed keeps what its reader sees
    leave?.();
    if (shown) {
      // New data, the same view: what the reader chose stays.
      follow(state, linkOf(shown));
      state.theme.value = shown.theme.value;
    } else followMedia(() => shown ?? state);
    shown = state;
    state.systemDark.value = DARK.matches;
    state.printing.value = PRINT.matches;
    leave = keepLink(state);
    render(
      <AppContext.Provider value={state}>
        <App />
      </AppContext.Provider>,
      root,
    );
    // Behind the first picture: two frames on, it is on the screen.
    if (first) requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => rest().catch(tell))));
  };
  const data = JSON.parse(element.textContent ?? "") as ReportData;
  // A page that takes files brings a script for that, and an empty report to fill.
  const { ioatlasDrop } = globalThis as { ioatlasDrop?: (template: ReportData, then: typeof show) => void };
  if (ioatlasDrop) {
    ioatlasDrop(data, show);
    return;
  }
  await show(data);
  const live = document.querySelector<HTMLMetaElement>('meta[name="ioatlas-live"]')?.content;
  if (live) await followCampaign(live, show);
}

function tell(error: unknown): void {
  const root = document.getElementById("ioatlas") ?? document.body;
  const text = document.createElement("p");
  text.className = "broken";
  text.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  root.replaceChildren(text);
}

start().catch(tell);
