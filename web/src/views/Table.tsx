// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";

interface Props {
  head: readonly ComponentChildren[];
  rows: readonly (readonly ComponentChildren[])[];
  /** Columns of numbers, which stand at the right. */
  numbers?: readonly number[];
  look?: string;
  /** The first cell of a row is its name. */
  named?: boolean;
  /** How the rows are sorted by each column. */
  sorted?: readonly ("ascending" | "descending" | "none")[];
}

export function Table({ head, rows, numbers = [], look = "plain", named = true, sorted }: Props) {
  const side = (at: number) => (numbers.includes(at) ? "num" : "");
  return (
    <table class={look}>
      <thead>
        <tr>
          {head.map((cell, at) => (
            <th key={at} class={side(at)} aria-sort={sorted?.[at]}>
              {cell}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, at) => {
              const Cell = named && at === 0 ? "th" : "td";
              return (
                <Cell key={at} class={side(at)} {...(Cell === "th" ? { scope: "row" } : {})}>
                  {cell}
                </Cell>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What may be wider than the window scrolls sideways by itself, by keyboard too. */
export function WideTable(props: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by keyboard
    <div class="wide" tabIndex={0}>
      <Table {...props} />
    </div>
  );
}

/** Things with facts, a line for each thing and a column for each fact that any of them has. */
export function FactsTable(props: {
  head: readonly string[];
  things: readonly { names: readonly string[]; facts: readonly { name: string; value: string }[] }[];
  /** How the name of a fact is written, given its values. */
  name?: (name: string, values: readonly string[]) => ComponentChildren;
  value?: (name: string, value: string) => string;
}) {
  const { head, things, name: told = (name) => name, value: text = (_, value) => value } = props;
  const names = [...new Set(things.flatMap(({ facts }) => facts.map((fact) => fact.name)))];
  const values = names.map((name) => things.map(({ facts }) => facts.find((fact) => fact.name === name)?.value ?? ""));
  return (
    <WideTable
      head={[...head, ...names.map((name, i) => told(name, values[i] ?? []))]}
      rows={things.map((thing, at) => [
        ...thing.names,
        ...names.map((name, i) => (values[i]?.[at] ? text(name, values[i]?.[at] ?? "") : "–")),
      ])}
    />
  );
}
