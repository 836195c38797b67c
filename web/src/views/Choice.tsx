// SPDX-License-Identifier: Apache-2.0
import type { ReadonlySignal, Signal } from "@preact/signals";
import { useId } from "preact/hooks";

/** One of a few, all visible: radio buttons that look like a switch. */
export function Choice<T extends string>(props: {
  label: string;
  of: ReadonlySignal<T> | Signal<T>;
  /** Texts by value, in their order. */
  options: Partial<Record<T, string>>;
  /** By default the signal takes the value. */
  onChange?: (value: T) => void;
}) {
  const name = useId();
  const { of } = props;
  const set = (value: T) => {
    (of as Signal<T>).value = value;
  };
  const choose = props.onChange ?? set;
  return (
    <fieldset class="choice">
      <legend>{props.label}</legend>
      <div class="choice-row">
        {(Object.entries(props.options) as [T, string][]).map(([value, text]) => (
          <label key={value} class={value === of.value ? "on" : ""}>
            <input type="radio" name={name} value={value} checked={value === of.value} onChange={() => choose(value)} />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
