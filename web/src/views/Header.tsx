// SPDX-License-Identifier: Apache-2.0
import type { ThemeChoice } from "../app-state";
import { running } from "../app-state/running";
import { counted, duration, type UnitSystem, whole } from "../lib/units";
import { Choice } from "./Choice";
import { useApp } from "./context";
import { Folded } from "./Folded";
import { Trust } from "./Summary";

export function Header() {
  const state = useApp();
  const { campaign, targets, unmeasured, summary } = state.atlas.data;
  const { name, profile, n_measured, n_estimated, n_imported } = summary;
  const target = targets.length > 1 ? counted(targets.length, "target") : `target ${targets[0]?.name}`;
  const facts = [
    target === `target ${name}` ? "" : target,
    profile,
    n_measured || !n_imported ? `${whole(n_measured)} measured` : "",
    n_estimated ? `${whole(n_estimated)} estimated` : "",
    n_imported ? `${whole(n_imported)} imported` : "",
    unmeasured.n_rows ? `${whole(unmeasured.n_rows)} not measured` : "",
    campaign.n_visits || !n_imported ? counted(campaign.n_visits, "visit") : "",
    campaign.seconds ? duration(campaign.seconds) : "",
    campaign.created.replace(/T00:00:00.*$/, "").replace(/^(.{10})T(.{5}).*$/, "$1 $2 UTC"),
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
        <Folded look="display" title="Display">
          <div class="display-choices">
            <Choice<UnitSystem> label="Units" of={state.units} options={{ iec: "KiB", si: "kB" }} />
            <Choice<ThemeChoice>
              label="Theme"
              of={state.theme}
              options={{ auto: "Auto", light: "Light", dark: "Dark" }}
            />
          </div>
        </Folded>
      </div>
    </header>
  );
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
