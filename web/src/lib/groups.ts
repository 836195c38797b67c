// SPDX-License-Identifier: Apache-2.0

/** Values by what they have in common, as `Map.groupBy`, which Node 20 lacks. */
export function groups<K, V>(values: Iterable<V>, keyOf: (value: V) => K): Map<K, V[]> {
  const found = new Map<K, V[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = found.get(key);
    if (group) group.push(value);
    else found.set(key, [value]);
  }
  return found;
}
