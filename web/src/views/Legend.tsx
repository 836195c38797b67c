// SPDX-License-Identifier: Apache-2.0
import { useMemo } from "preact/hooks";
import { MARK_WORDS, type Mark } from "../lib/atlas";
import { useApp } from "./context";
import { Swatch } from "./Swatch";

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
    for (const mark of atlas.unmeasuredMarks) seen.add(mark);
    if (atlas.nAbsent > 0) seen.add("absent");
    return (Object.keys(MARK_WORDS) as Mark[]).filter((mark) => seen.has(mark));
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
