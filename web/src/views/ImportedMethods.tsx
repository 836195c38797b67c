// SPDX-License-Identifier: Apache-2.0
import { useApp } from "./context";
import { Wide } from "./Wide";

/** How the figures of other tools came about: one line for each set, so that nobody compares what was not measured alike unawares. */
export function ImportedMethods() {
  const sets = useApp().atlas.data.imported_methods;
  if (sets.length === 0) return null;
  const names = [...new Set(sets.flatMap((set) => set.facts.map((fact) => fact.name)))];
  const factOf = (at: number, name: string) => sets[at]?.facts.find((fact) => fact.name === name)?.value ?? "";
  const differs = (name: string) => new Set(sets.map((_, at) => factOf(at, name))).size > 1;
  return (
    <section aria-labelledby="imported-title">
      <h2 id="imported-title">How the imported figures were measured</h2>
      <p class="soft">
        Measured by other tools, read from their files. What differs between the sets is bold: differences of method
        show as differences of the storage.
      </p>
      <Wide>
        <table class="plain">
          <thead>
            <tr>
              <th>Set</th>
              {names.map((name) => (
                <th key={name}>{differs(name) ? <b>{name}</b> : name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sets.map((set, at) => (
              <tr key={set.target}>
                <th scope="row">{set.target}</th>
                {names.map((name) => (
                  <td key={name}>{factOf(at, name) || "–"}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}
