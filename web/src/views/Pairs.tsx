// SPDX-License-Identifier: Apache-2.0
import type { Named } from "../lib/facts";

/** Names and their values, without those that have none. */
export function Pairs({ of, look = "pairs" }: { of: readonly Named[]; look?: string }) {
  return (
    <dl class={look}>
      {of.map(([name, value]) =>
        value ? (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}
