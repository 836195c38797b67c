// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copyText } from "../lib/files";

/** Copies a text, and says for a moment that it did. instead: what to do where the browser does not let pages copy. */
export function Copy(props: { text: () => string; instead: string; look: string; children: ComponentChildren }) {
  const [told, setTold] = useState("");
  const copy = async () => {
    setTold((await copyText(props.text())) ? "Copied" : props.instead);
    setTimeout(() => setTold(""), 2500);
  };
  return (
    <>
      <button type="button" class={props.look} onClick={copy}>
        {props.children}
      </button>{" "}
      <span class="soft" role="status">
        {told}
      </span>
    </>
  );
}
