// SPDX-License-Identifier: Apache-2.0
import { useId } from "preact/hooks";

/** One of a few, all visible: radio buttons that look like a switch. */
export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
  hideLabel?: boolean;
}) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={props.hideLabel ? "unseen" : ""}>{props.label}</legend>
      <div class="choice-row">
        {props.options.map(([value, text]) => (
          <label key={value} class={value === props.value ? "on" : ""}>
            <input
              type="radio"
              name={name}
              value={value}
              checked={value === props.value}
              onChange={() => props.onChange(value)}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
