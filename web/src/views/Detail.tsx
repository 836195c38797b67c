// SPDX-License-Identifier: Apache-2.0
import { othersAt } from "../lib/facts";
import { jobText } from "../lib/job";
import { Copy } from "./Copy";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { Later } from "./Later";
import { CellName, Readout } from "./Readout";
import { SliceView } from "./SliceView";

/** The pinned cell: what it is, its numbers, its neighbours, and its fio job. */
export function Detail() {
  const state = useApp();
  const slot = state.pinnedSlot.value;
  const others = othersAt(state.atlas, state.pinnedPoint.value);
  return (
    <aside class="detail" aria-labelledby="detail-title">
      <div class="detail-cell">
        <h2 id="detail-title">Cell</h2>
        {slot === 0 ? (
          <p class="soft">Choose a cell of the map: click it, or move with the arrow keys and press Enter.</p>
        ) : (
          <>
            <CellName slot={slot} />
            <Readout slot={slot} />
            {others.map((row) => (
              <Folded key={row} title="Another value of this cell">
                <Readout slot={row + 1} />
              </Folded>
            ))}
          </>
        )}
      </div>
      <Later>
        {state.live.length > 0 ? <SliceView /> : null}
        {slot === 0 ? null : <Job text={jobText(state.atlas, slot)} />}
      </Later>
      <p class="unseen" aria-live="polite">
        {slot === 0 ? "" : "Details of the cell are shown."}
      </p>
    </aside>
  );
}

function Job({ text }: { text: string }) {
  return (
    <section class="job" aria-labelledby="job-title">
      <div class="job-head">
        <h3 id="job-title">fio job</h3>
        <Copy look="" text={() => text} instead="Select the text to copy it">
          Copy job
        </Copy>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable */}
      <pre tabIndex={0} role="region" aria-label="Text of the fio job">
        {text}
      </pre>
    </section>
  );
}
