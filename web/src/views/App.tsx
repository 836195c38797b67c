// SPDX-License-Identifier: Apache-2.0
import { useLayoutEffect } from "preact/hooks";
import type { View } from "../app-state";
import { Charts } from "./Charts";
import { ColorBar } from "./ColorBar";
import { Comparison } from "./Comparison";
import { Controls } from "./Controls";
import { Costs } from "./Costs";
import { useApp } from "./context";
import { Detail } from "./Detail";
import { Findings } from "./Findings";
import { Header } from "./Header";
import { ImportedMethods } from "./ImportedMethods";
import { LatencyView } from "./LatencyView";
import { Later } from "./Later";
import { Legend } from "./Legend";
import { MapView } from "./MapView";
import { RunningBar } from "./RunningBar";
import { Discards, Method, NotMeasured } from "./Sections";
import { Limits, Summary } from "./Summary";
import { TableView } from "./TableView";
import { TimeView } from "./TimeView";

/** The page in the order a reader needs it: the answer, the map, the findings behind it, what is missing, how it was done. */
export function App() {
  const state = useApp();
  const theme = state.theme.value;
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return (
    <main>
      <RunningBar />
      <Header />
      {state.atlas.data.comparison ? <Comparison /> : <Summary />}
      <Charts />
      <section id="map" class="explorer" aria-labelledby="map-title">
        <h2 id="map-title" class="unseen">
          Performance map
        </h2>
        <Controls />
        <div class="explorer-body">
          <div class="explorer-main">
            <Shown view={state.view.value} />
          </div>
          <Detail />
        </div>
      </section>
      <Later>
        <Limits />
        <Costs />
        <Findings />
        <ImportedMethods />
        <Charts afterMap />
        <NotMeasured />
        <Method />
        <Discards />
        <footer>
          <p>
            Made by I/O Atlas {state.atlas.data.campaign.tool_version}. This file holds everything it shows and loads
            nothing from a network.
          </p>
        </footer>
      </Later>
    </main>
  );
}

/** What stands in the middle of the explorer. */
function Shown({ view }: { view: View }) {
  if (view === "table") return <TableView />;
  if (view === "latency") return <LatencyView />;
  if (view === "time") return <TimeView />;
  return (
    <>
      <div class="key">
        <ColorBar />
        <Legend />
      </div>
      <MapView />
    </>
  );
}
