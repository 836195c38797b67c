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
  "wide",
  "minimum",
  "unstable",
  "disagree",
  "alike",
  "undecided",
  "suspect",
  "unmeasured",
  "inadmissible",
  "absent",
];

const CHANGE_WORDS: Partial<Record<Mark, string>> = {
  steady: "a difference",
  unmeasured: "nothing to compare, or what the others are held against",
};

/** The marks that occur in this campaign. */
export function Legend() {
  const state = useApp();
  const { atlas } = state;
  const own = state.reading.value.marks;
  const present = useMemo(() => {
    const seen = new Set<Mark>(own ? [...own, "unmeasured"] : atlas.marks);
    for (let row = 0; row < atlas.data.unmeasured.n_rows; row++) {
      seen.add(unmeasuredMark(atlas, row));
    }
    if (atlas.nAbsent > 0) seen.add("absent");
    return ORDER.filter((mark) => seen.has(mark));
  }, [atlas, own]);
  return (
    <ul class="legend" aria-label="Marks">
      {present.map((mark) => (
        <li key={mark}>
          <Swatch mark={mark} /> {(own && CHANGE_WORDS[mark]) || MARK_WORDS[mark]}
        </li>
      ))}
    </ul>
  );
}
