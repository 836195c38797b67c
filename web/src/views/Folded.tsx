// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { Later } from "./Later";

/** What is shown when its title is pressed. */
export function Folded(props: { title: ComponentChildren; look?: string; children: ComponentChildren }) {
  return (
    <details class={props.look}>
      <summary>{props.title}</summary>
      <Later>{props.children}</Later>
    </details>
  );
}
