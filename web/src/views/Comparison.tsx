// SPDX-License-Identifier: Apache-2.0
import { chooseQuantity } from "../app-state";
import { useApp } from "./context";

/** What the comparison of two campaigns says, and the way to the map of ratios. */
export function Comparison() {
  const state = useApp();
  const { comparison } = state.atlas.data;
  if (!comparison) return null;
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
        Show the map of changes
      </button>
    </section>
  );
}
