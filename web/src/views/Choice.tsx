// SPDX-License-Identifier: Apache-2.0
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useId } from "preact/hooks";

/** One of a few, all visible: radio buttons that look like a switch. */
export function Choice<T extends string>(props: {
  label: string;
  of: ReadonlySignal<T> | Signal<T>;
  options: readonly (readonly [T, string])[];
  /** By default the signal takes the value. */
  onChange?: (value: T) => void;
}) {
  const name = useId();
  const { of } = props;
  const choose =
    props.onChange ??
    ((value: T) => {
      (of as Signal<T>).value = value;
    });
  return (
    <fieldset class="choice">
      <legend>{props.label}</legend>
      <div class="choice-row">
        {props.options.map(([value, text]) => (
          <label key={value} class={value === of.value ? "on" : ""}>
            <input type="radio" name={name} value={value} checked={value === of.value} onChange={() => choose(value)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
