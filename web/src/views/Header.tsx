// SPDX-License-Identifier: Apache-2.0
import type { ThemeChoice } from "../app-state";
import { running } from "../app-state/running";
import { counted, duration, type UnitSystem, whole } from "../lib/units";
import { Choice } from "./Choice";
import { useApp } from "./context";
import { Later } from "./Later";
import { Trust } from "./Summary";

export function Header() {
  const state = useApp();
  const { campaign, targets, cells, unmeasured } = state.atlas.data;
  const { name, profile } = state.atlas.data.summary;
  const measured = countKind(state.atlas.kind.texts, state.atlas.kind.codes, "measured");
  const predicted = countKind(state.atlas.kind.texts, state.atlas.kind.codes, "predicted");
  const imported = cells.n_rows - measured - predicted;
  const facts = [
    targets.length > 1
      ? counted(targets.length, "target")
      : targets[0]?.name === name
        ? ""
        : `target ${targets[0]?.name}`,
    profile,
    `${whole(measured)} measured`,
    predicted ? `${whole(predicted)} estimated` : "",
    imported ? `${whole(imported)} imported` : "",
    unmeasured.n_rows ? `${whole(unmeasured.n_rows)} not measured` : "",
    counted(campaign.n_visits, "visit"),
    campaign.seconds ? duration(campaign.seconds) : "",
    campaign.created ? campaign.created.slice(0, 16).replace("T", " ").concat(" UTC") : "",
  ].filter(Boolean);
  return (
    <header class="head">
      <div class="head-title">
        <p class="brand">
          <Mark /> I/O Atlas
        </p>
        <h1>{name}</h1>
        <p class="facts">
          {facts.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
          {campaign.complete || running.value?.running ? null : <span class="flag">stopped early: partial result</span>}
        </p>
      </div>
      <div class="head-tools">
        {state.atlas.data.comparison || running.value?.running ? null : <Trust />}
        <details class="display">
          <summary>Display</summary>
          <Later>
            <div class="display-choices">
              <Choice<UnitSystem>
                label="Units"
                value={state.units.value}
                onChange={(v) => {
                  state.units.value = v;
                }}
                options={[
                  ["iec", "KiB"],
                  ["si", "kB"],
                ]}
              />
              <Choice<ThemeChoice>
                label="Theme"
                value={state.theme.value}
                onChange={(v) => {
                  state.theme.value = v;
                }}
                options={[
                  ["auto", "Auto"],
                  ["light", "Light"],
                  ["dark", "Dark"],
                ]}
              />
            </div>
          </Later>
        </details>
      </div>
    </header>
  );
}

function countKind(texts: string[], codes: ArrayLike<number>, kind: string): number {
  const code = texts.indexOf(kind);
  let n = 0;
  for (let i = 0; i < codes.length; i++) if (codes[i] === code) n++;
  return n;
}

/** Four tiles, rising: the sign of the page. */
function Mark() {
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
      <rect class="m1" x="0" y="7.5" width="6.5" height="6.5" />
      <rect class="m2" x="7.5" y="7.5" width="6.5" height="6.5" />
      <rect class="m2" x="0" y="0" width="6.5" height="6.5" />
      <rect class="m3" x="7.5" y="0" width="6.5" height="6.5" />
    </svg>
  );
}
