// SPDX-License-Identifier: Apache-2.0
import { useSignal } from "@preact/signals";
import { command, lost, type Progress, refusal, running } from "../app-state/running";
import { bytes, duration, size, whole } from "../lib/units";

/** How far a campaign is that runs, with what stops it or goes on. Nothing in a page without a server. */
export function RunningBar() {
  const asked = useSignal(false);
  const now = running.value;
  if (!now || (now.complete && !now.running)) return null;
  const { progress } = now;
  const ask = async (what: "stop" | "resume") => {
    asked.value = true;
    await command(what);
    asked.value = false;
  };
  return (
    <section class="running" aria-label="This campaign now">
      <p class="running-words" aria-live="polite">
        <strong>{lost.value ? "The server ended" : now.running ? "Measuring" : "Not running"}</strong>{" "}
        {lost.value ? "What measures goes on. Start `ioatlas ui` again to see it." : now.running ? words(progress) : ""}
      </p>
      {now.running ? <progress aria-label="Share of the time" max={1} value={share(progress)} /> : null}
      <p class="running-tools">
        {now.running ? (
          <button type="button" disabled={asked.value} onClick={() => ask("stop")}>
            Pause: finished visits are kept
          </button>
        ) : (
          <button type="button" disabled={asked.value || lost.value} onClick={() => ask("resume")}>
            Go on
          </button>
        )}
      </p>
      {refusal.value || (!now.running && now.said) ? <pre class="running-said">{refusal.value || now.said}</pre> : null}
    </section>
  );
}

/** '12 of 42 visits, 1 min 20 s left, now randread 4 KiB x16'. */
export function words(progress: Progress): string {
  if (progress.event === "layout") {
    return `writing files on ${progress.target}: ${bytes(progress.bytes_done ?? 0, "iec")} of ${bytes(progress.bytes ?? 0, "iec")}`;
  }
  const { visits_done: done, visits_planned: planned, rw, bs_bytes: bs } = progress;
  if (done === undefined || planned === undefined) return "getting ready";
  const left = rest(progress);
  return [
    `${whole(done)} of ${whole(done + planned)} visits`,
    left === null ? "" : `${duration(left)} left${progress.budget_seconds ? " at most" : ""}`,
    rw && bs ? `now ${rw} ${size(bs, "iec")} x${(progress.numjobs ?? 1) * (progress.iodepth ?? 1)}` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function rest({ budget_seconds: budget, elapsed_seconds: passed, seconds_left: left }: Progress): number | null {
  if (budget && passed !== undefined) return Math.max(1, budget - passed);
  return left === undefined ? null : Math.max(1, left);
}

/** Of the time that it takes, from 0 to 1; undefined draws a bar that only moves. */
export function share(progress: Progress): number | undefined {
  const left = rest(progress);
  const passed = progress.elapsed_seconds;
  return left === null || passed === undefined ? undefined : passed / (passed + left);
}
