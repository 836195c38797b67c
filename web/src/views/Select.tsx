// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";
import type { AppState } from "../app-state";
import { axisAt } from "../lib/atlas";
import { axisTitle, levelText } from "../lib/labels";

export type Option = readonly [value: number, text: string];

interface Props {
  value: number;
  options: readonly Option[];
  onChange: (value: number) => void;
}

/** A choice of an axis or a level by its number. label: its name, where no element labels it. */
export function Select({ value, options, onChange, ...names }: Props & { id?: string; label?: string }) {
  return (
    <select
      id={names.id}
      aria-label={names.label}
      value={String(value)}
      onChange={(e) => onChange(Number(e.currentTarget.value))}
    >
      {options.map(([each, text]) => (
        <option key={each} value={String(each)}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** One under its name. */
export function Field({ label, ...rest }: Props & { label: string }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Select id={id} {...rest} />
    </div>
  );
}

/** The axes one can move along. */
export function axisOptions({ atlas, live }: AppState): Option[] {
  return live.map((a) => [a, axisTitle(axisAt(atlas, a))]);
}

/** Levels of an axis, all of them by default. */
export function levelOptions({ atlas, units }: AppState, a: number, levels?: readonly number[]): Option[] {
  const axis = axisAt(atlas, a);
  return [...(levels ?? axis.levels.keys())].map((l) => [l, levelText(axis, axis.levels[l], units.value)]);
}
