// SPDX-License-Identifier: Apache-2.0
import { linkOf } from "../app-state/link";
import { pngOf, svgOf, svgOfChart } from "../draw/picture";
import { save } from "../lib/files";
import { Copy } from "./Copy";
import { useApp } from "./context";

/** What is seen, to take along: its address, and pictures of it. */
export function Share() {
  const state = useApp();
  const view = state.view.value;
  const address = () => location.href.replace(/#.*$/, "") + linkOf(state);
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
      <Copy look="quiet" text={address} instead="Copy the address of this page">
        Copy link to this view
      </Copy>
      {view === "map" ? (
        (["png", "svg"] as const).map((kind) => (
          <button key={kind} type="button" class="quiet" onClick={() => saveMap(kind)}>
            {kind.toUpperCase()}
            <span class="unseen"> picture of the map</span>
          </button>
        ))
      ) : view === "table" ? null : (
        <button type="button" class="quiet" onClick={saveCharts}>
          SVG<span class="unseen"> pictures of the charts</span>
        </button>
      )}
    </div>
  );
}
