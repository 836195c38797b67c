// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

/** What may be wider than the window scrolls sideways by itself, by keyboard too. */
export function Wide({ children }: { children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by keyboard
    <div class="wide" tabIndex={0}>
      {children}
    </div>
  );
}
