// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { linkOf } from "../app-state/link";
import { pngOf, svgOf, svgOfChart } from "../draw/picture";
import { copyText, save } from "../lib/files";
import { useApp } from "./context";

/** What is seen, to take along: its address, and pictures of it. */
export function Share() {
  const state = useApp();
  const [told, setTold] = useState("");
  const view = state.view.value;
  const tell = (text: string) => {
    setTold(text);
    setTimeout(() => setTold(""), 2500);
  };
  const copyLink = async () => {
    const address = location.href.replace(/#.*$/, "") + linkOf(state);
    tell((await copyText(address)) ? "Link copied" : "Copy the address of this page");
  };
  const saveMap = async (kind: "png" | "svg") => {
    const parts = [...document.querySelectorAll("#map .key, #map .map-frame")];
    save(state.atlas, kind === "png" ? await pngOf(parts) : svgOf(parts), `.${kind}`);
  };
  const saveCharts = () => {
    document.querySelectorAll<SVGSVGElement>("#map .chart svg, #map .strip svg").forEach((chart, i) => {
      save(state.atlas, svgOfChart(chart), `-${view}-${i + 1}.svg`);
    });
  };
  return (
    <div class="share">
      <button type="button" class="quiet" onClick={copyLink}>
        Copy link to this view
      </button>
      {view === "map" ? (
        <>
          <button type="button" class="quiet" onClick={() => saveMap("png")}>
            PNG<span class="unseen"> picture of the map</span>
          </button>
          <button type="button" class="quiet" onClick={() => saveMap("svg")}>
            SVG<span class="unseen"> picture of the map</span>
          </button>
        </>
      ) : view === "table" ? null : (
        <button type="button" class="quiet" onClick={saveCharts}>
          SVG<span class="unseen"> pictures of the charts</span>
        </button>
      )}
      <span class="soft" role="status">
        {told}
      </span>
    </div>
  );
}
