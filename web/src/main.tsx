// SPDX-License-Identifier: Apache-2.0
import { options, render } from "preact";
import "uplot/dist/uPlot.min.css";
import { type AppState, makeState } from "./app-state";
import { keepLink } from "./app-state/link";
import { openAtlas } from "./lib/atlas";
import type { ReportData } from "./lib/report-data.gen";
import { App } from "./views/App";
import { AppContext } from "./views/context";
import "./style/base.css";
import "./style/controls.css";
import "./style/explorer.css";
import "./style/tables.css";
import "./style/charts.css";
import "./style/rounds.css";
import "./style/summary.css";
// Last: what depends on the width, on motion and on paper overrules what stands above.
import "./style/media.css";

const NARROW_PX = 720;

/** Follows the system's theme and the printer: paper is always light, and pictures are repainted before it is drawn. */
function followMedia(state: AppState): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  state.systemDark.value = dark.matches;
  dark.addEventListener("change", () => {
    state.systemDark.value = dark.matches;
  });
  const later = options.debounceRendering;
  const print = (on: boolean) => {
    // The printed page is taken as soon as the listeners return: render at once instead of in the next frame.
    options.debounceRendering = (flush: () => void) => flush();
    state.printing.value = on;
    if (later) options.debounceRendering = later;
    else delete (options as { debounceRendering?: unknown }).debounceRendering;
  };
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  const media = matchMedia("print");
  print(media.matches);
  media.addEventListener("change", () => print(media.matches));
}

async function start(): Promise<void> {
  if (typeof DecompressionStream === "undefined" || typeof OffscreenCanvas === "undefined") {
    throw new Error("this browser is too old for it: Chromium 80, Firefox 113 and Safari 16.4 are recent enough");
  }
  const root = document.getElementById("ioatlas");
  const element = document.getElementById("ioatlas-data");
  if (!root || !element) throw new Error("this page lacks its data");
  const data = JSON.parse(element.textContent ?? "") as ReportData;
  const atlas = await openAtlas(data);
  const state = makeState(atlas, window.innerWidth < NARROW_PX);
  followMedia(state);
  keepLink(state);
  render(
    <AppContext.Provider value={state}>
      <App />
    </AppContext.Provider>,
    root,
  );
  performance.mark("ioatlas-first-picture");
}

start().catch((error: unknown) => {
  const root = document.getElementById("ioatlas") ?? document.body;
  const text = document.createElement("p");
  text.className = "broken";
  text.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
  root.replaceChildren(text);
});
