// SPDX-License-Identifier: Apache-2.0
import { MARK_WORDS, type Slot } from "../lib/atlas";
import { factsAt } from "../lib/facts";
import { cellLabel } from "../lib/labels";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { Pairs } from "./Pairs";
import { Swatch } from "./Swatch";

/** Which cell: its levels, one beside the other. */
export function CellName({ slot }: { slot: Slot }) {
  const { atlas, units } = useApp();
  const parts = cellLabel(atlas, slot, units.value);
  if (parts.length === 0) return <p class="cell-name">The only cell</p>;
  return <Pairs look="cell-name" of={parts} />;
}

/** Every number of a cell with its interval, visits, verdict and method. */
export function Readout({ slot, brief = false }: { slot: Slot; brief?: boolean }) {
  const { atlas, units, quantityId } = useApp();
  const facts = factsAt(atlas, slot, units.value);
  if (facts.reason) {
    return (
      <p class="reason">
        <Swatch mark={facts.mark} /> {facts.reason}
      </p>
    );
  }
  return (
    <div class="readout">
      <table>
        <thead class="unseen">
          <tr>
            <th>Quantity</th>
            <th>Value</th>
            <th>95 % interval</th>
          </tr>
        </thead>
        <tbody>
          {facts.lines.map((line) => (
            <tr key={line.id} class={line.id === quantityId.value ? "on" : ""}>
              <th scope="row">{line.short}</th>
              <td>{line.value}</td>
              <td class="soft">{line.interval || (line.id === "width" ? "" : "no interval")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="verdict">
        <Swatch mark={facts.mark} /> {facts.kind}
        {facts.verdict && facts.verdict !== facts.kind ? `, ${facts.verdict}` : ""}
        <span class="unseen"> ({MARK_WORDS[facts.mark]})</span>
      </p>
      <Pairs look="meta" of={brief ? facts.told : [...facts.told, ...facts.because]} />
      {brief ? null : (
        <Folded title="How it was measured">
          <Pairs look="meta" of={facts.how} />
        </Folded>
      )}
    </div>
  );
}
