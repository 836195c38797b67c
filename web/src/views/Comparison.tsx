// SPDX-License-Identifier: Apache-2.0
import { chooseQuantity } from "../app-state";
import { useApp } from "./context";

/** What a comparison says, and the way to the maps of ratios. */
export function Comparison() {
  const state = useApp();
  const { comparison } = state.atlas.data;
  if (!comparison) return null;
  const several = comparison.second.length > 1;
  return (
    <section class="comparison" aria-labelledby="comparison-title">
      <h2 id="comparison-title" class="unseen">
        Comparison
      </h2>
      <ul>
        {comparison.sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      <button type="button" class="quiet" onClick={() => chooseQuantity(state, "change")}>
        {several ? `Show the maps of changes against ${comparison.first.join(", ")}` : "Show the map of changes"}
      </button>
    </section>
  );
}
