// SPDX-License-Identifier: Apache-2.0
// A campaign that runs while its page is open: asked about once a second, read anew when visits were finished.
import { signal } from "@preact/signals";
import type { ReportData } from "../lib/report-data.gen";

const ASK_MS = 1000;
/** Between two readings of the whole data: making it takes time from the machine that measures. */
const RENEW_MS = 3000;

export interface Progress {
  event?: string;
  visits_done?: number;
  visits_planned?: number;
  seconds_left?: number;
  elapsed_seconds?: number;
  budget_seconds?: number | null;
  rw?: string;
  bs_bytes?: number;
  numjobs?: number;
  iodepth?: number;
  bytes?: number;
  bytes_done?: number;
  target?: string;
}

export interface Running {
  running: boolean;
  complete: boolean;
  version: number;
  progress: Progress;
  said: string;
}

/** What the server said last; null in a page without a server. */
export const running = signal<Running | null>(null);
/** The server does not answer any more. */
export const lost = signal(false);
/** What a button was answered that did not work. */
export const refusal = signal("");

let address = "";

/** Keeps `running` up to date, and hands over the campaign's data whenever it changed. Ends when the campaign is complete. */
export async function followCampaign(at: string, renew: (data: ReportData) => Promise<void>): Promise<void> {
  address = at;
  let seen = -1;
  let renewed = performance.now();
  for (;;) {
    if (!document.hidden) {
      const found = await ask();
      if (found) {
        const first = seen < 0;
        if (first) seen = found.version;
        const due = performance.now() - renewed >= RENEW_MS || !found.running;
        if (found.version !== seen && due) {
          seen = found.version;
          const answer = await fetch(`${at}data`).catch(() => null);
          if (answer?.ok) await renew((await answer.json()) as ReportData);
          renewed = performance.now();
        }
        if (found.complete && !found.running && found.version === seen) return;
      }
    }
    await new Promise((later) => setTimeout(later, ASK_MS));
  }
}

async function ask(): Promise<Running | null> {
  const answer = await fetch(`${address}live`).catch(() => null);
  lost.value = !answer?.ok;
  if (!answer?.ok) return null;
  const found = (await answer.json()) as Running;
  running.value = found;
  return found;
}

/** Asks the server to stop the session, or to go on. */
export async function command(what: "stop" | "resume"): Promise<void> {
  refusal.value = "";
  const answer = await fetch(`${address}${what}`, { method: "POST" }).catch(() => null);
  if (!answer?.ok) refusal.value = answer ? await answer.text() : "the server does not answer";
  await ask();
}
