// SPDX-License-Identifier: Apache-2.0
import { useApp } from "./context";
import { FactsTable } from "./Table";

/** How the figures of other tools came about: one line for each set, so that nobody compares what was not measured alike unawares. */
export function ImportedMethods() {
  const sets = useApp().atlas.data.imported_methods;
  if (sets.length === 0) return null;
  return (
    <section aria-labelledby="imported-title">
      <h2 id="imported-title">How the imported figures were measured</h2>
      <p class="soft">
        Measured by other tools, read from their files. What differs between the sets is bold: differences of method
        show as differences of the storage.
      </p>
      <FactsTable
        head={["Set"]}
        things={sets.map(({ target, facts }) => ({ names: [target], facts }))}
        name={(name, values) => (new Set(values).size > 1 ? <b>{name}</b> : name)}
      />
    </section>
  );
}
