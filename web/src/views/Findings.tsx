// SPDX-License-Identifier: Apache-2.0
import { showRows } from "../app-state";
import { useApp } from "./context";

const TITLES: Record<string, string> = {
  peak: "Peak",
  knee: "90 % of the peak",
  saturation: "Saturation",
  noise: "Noise",
  "not-measured": "Not measured",
  operations: "Operations",
  engines: "Two tools",
  "work-bounded": "Work-bounded",
};

function title(code: string): string {
  return TITLES[code] ?? code.charAt(0).toUpperCase() + code.slice(1).replaceAll("-", " ");
}

/** What to know first, in words, each with its evidence. */
export function Findings() {
  const state = useApp();
  const { findings } = state.atlas.data;
  if (findings.length === 0) return null;
  const show = (rows: readonly number[]) => {
    showRows(state, rows);
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  return (
    <section class="findings" aria-labelledby="findings-title">
      <h2 id="findings-title">What to know</h2>
      <ol>
        {findings.map((finding) => (
          <li key={`${finding.code} ${finding.sentence}`}>
            <span class="finding-code">{title(finding.code)}</span>
            <span class="finding-text">{finding.sentence}</span>
            {finding.rows.length > 0 ? (
              <button type="button" class="quiet" onClick={() => show(finding.rows)}>
                Show {finding.rows.length > 1 ? `${finding.rows.length} cells` : "cell"}
                <span class="unseen"> on the map: {finding.sentence}</span>
              </button>
            ) : finding.code === "not-measured" && state.atlas.data.unmeasured.n_rows > 0 ? (
              <a class="quiet" href="#not-measured">
                See why<span class="unseen"> these cells were not measured</span>
              </a>
            ) : null}
          </li>
        ))}
      </ol>
    </section>
  );
}
