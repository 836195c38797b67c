// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import type { Mark } from "../lib/atlas";
import { unmeasuredMark } from "../lib/atlas";
import { useApp } from "./context";
import { MARK_WORDS, Swatch } from "./Swatch";

const ORDER: readonly Mark[] = [
  "steady",
  "predicted",
  "imported",
  "unstable",
  "minimum",
  "suspect",
  "unmeasured",
  "inadmissible",
  "absent",
];

/** The marks that occur in this campaign. */
export function Legend() {
  const { atlas } = useApp();
  const present = useMemo(() => {
    const seen = new Set<Mark>(atlas.marks);
    for (let row = 0; row < atlas.data.unmeasured.n_rows; row++) {
      seen.add(unmeasuredMark(atlas, row));
    }
    if (atlas.nAbsent > 0) seen.add("absent");
    return ORDER.filter((mark) => seen.has(mark));
  }, [atlas]);
  return (
    <ul class="legend" aria-label="Marks">
      {present.map((mark) => (
        <li key={mark}>
          <Swatch mark={mark} /> {MARK_WORDS[mark]}
        </li>
      ))}
    </ul>
  );
}
