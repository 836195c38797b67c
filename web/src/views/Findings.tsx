// SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import type { FindingData } from "../lib/report-data.gen";
import { counted } from "../lib/units";
import { useApp } from "./context";
import { ShowCells } from "./ShowCells";

/** Everything that was found, in words, each with its evidence. */
export function Findings() {
  const state = useApp();
  const { findings } = state.atlas.data;
  const [opened, setOpened] = useState(false);
  const printing = state.printing.value;
  if (findings.length === 0) return null;
  return (
    <section class="findings" aria-labelledby="findings-title">
      <details
        open={opened || printing}
        onToggle={(e) => {
          if (!printing) setOpened(e.currentTarget.open);
        }}
      >
        <summary>
          <h2 id="findings-title">{counted(findings.length, "finding")}</h2>
        </summary>
        <ol>
          {findings.map((finding) => (
            <Item key={finding.title} finding={finding} />
          ))}
        </ol>
      </details>
    </section>
  );
}

/** A sentence under its title, with the way to its evidence: its cells on the map, or the section that holds it. */
function Item({ finding }: { finding: FindingData }) {
  const state = useApp();
  const unmeasured = finding.place !== "not-measured" || state.atlas.data.unmeasured.n_rows > 0;
  return (
    <li>
      <span class="finding-code">{finding.title}</span>
      <span class="finding-text">{finding.sentence}</span>
      {finding.rows.length > 0 ? (
        <ShowCells rows={finding.rows} of={finding.sentence} />
      ) : finding.place && unmeasured ? (
        <a class="quiet" href={`#${finding.place}`}>
          {PLACES[finding.place] ?? "See why"}
          <span class="unseen">: {finding.title}</span>
        </a>
      ) : null}
    </li>
  );
}

/** Words of the link to a section. */
const PLACES: Record<string, string> = {
  map: "See the map",
  method: "See the facts",
  discards: "See what was discarded",
  charts: "See the chart",
};
