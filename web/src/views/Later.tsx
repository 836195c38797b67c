// SPDX-License-Identifier: Apache-2.0
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** The first picture stands: the answer and the map. */
export const settled = signal(false);

/** What is folded or stands below the first screen: made behind the first picture, which does not wait for it. */
export function Later({ children }: { children: ComponentChildren }) {
  return settled.value ? children : null;
}
