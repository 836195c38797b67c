// SPDX-License-Identifier: Apache-2.0
import type { ProductCostData, UnitPriceData } from "../lib/report-data.gen";
import { grouped, significant } from "../lib/units";
import { Card } from "./Card";
import { useApp } from "./context";

const TIB = 2 ** 40;
const TB = 1e12;

/** What each product costs for what it gives; nothing where the campaign names no product. */
export function Costs() {
  const { costs, targets } = useApp().atlas.data;
  if (costs.length === 0) return null;
  return (
    <section id="cost" aria-labelledby="cost-title">
      <h2 id="cost-title">What it costs</h2>
      {costs.map((cost) => (
        <Product key={cost.target} cost={cost} several={targets.length > 1} />
      ))}
    </section>
  );
}

function Product({ cost, several }: { cost: ProductCostData; several: boolean }) {
  const size = cost.usable_bytes;
  const parts = [
    cost.total === null ? "no price for all of it" : `${grouped(cost.total)} ${cost.currency}`,
    cost.dates,
    size === null ? "" : `${significant(size / TIB)} TiB (${significant(size / TB)} TB) usable`,
  ];
  return (
    <>
      <h3>
        {cost.product}
        {several ? ` (${cost.target})` : ""}
      </h3>
      <p class="soft">{parts.filter(Boolean).join(" · ")}</p>
      <ul class="cards">
        {cost.units.map((one) => (
          <UnitPrice key={one.unit} one={one} currency={cost.currency} />
        ))}
      </ul>
      {cost.remarks.length > 0 ? (
        <ul class="soft small">
          {cost.remarks.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : null}
    </>
  );
}

function UnitPrice({ one, currency }: { one: UnitPriceData; currency: string }) {
  return (
    <Card label={`Per ${one.unit}`} rows={one.row === null ? [] : [one.row]}>
      <p class="card-value">
        {one.lower_bound ? "≤ " : ""}
        <b>{one.cost === null ? "no price" : grouped(one.cost)}</b> {one.cost === null ? "" : currency}
      </p>
      {one.low !== null && one.high !== null ? (
        <p class="soft">
          95 %: {grouped(one.low)} to {grouped(one.high)}
        </p>
      ) : null}
      <p>
        {grouped(one.amount)} {one.unit}
        {one.where ? ` at ${one.where}` : ""}
      </p>
      {one.per_watt !== null ? <p class="soft">{grouped(one.per_watt)} for each watt</p> : null}
    </Card>
  );
}
