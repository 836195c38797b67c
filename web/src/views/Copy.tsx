// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copyText } from "../lib/files";

/** Copies a text, and says for a moment that it did. */
export function Copy({ text, look, children }: { text: () => string; look: string; children: ComponentChildren }) {
  const [told, setTold] = useState("");
  const copy = async () => {
    setTold((await copyText(text())) ? "Copied" : "This browser does not let pages copy");
    setTimeout(() => setTold(""), 2500);
  };
  return (
    <>
      <button type="button" class={look} onClick={copy}>
        {children}
      </button>{" "}
      <span class="soft" role="status">
        {told}
      </span>
    </>
  );
}
