// SPDX-License-Identifier: Apache-2.0
// A cell's fio job, to be run by hand: bare integers, the target's place left to whoever runs it.
import { type Atlas, levelAt, optionAt, type Slot } from "./atlas";

/** Axes that say which load or operation a cell is, or who makes it and where; fio has no options for them. */
const LABELS = ["operation", "tool", "phase", "load", "load_iops", "stream", "clients", "client_range", "targets"];

/** The job file's text, or an explanation as a comment where the cell has none. */
export function jobText(atlas: Atlas, slot: Slot): string {
  const { job, targets } = atlas.data;
  if (atlas.axes.some((axis) => axis.name === "stream")) {
    return "; One of several streams that ran at once. The jobs that ran, all streams of\n; a load together, are in the campaign's directory: batches/NUMBER/job.fio\n";
  }
  const kind = slot > 0 ? atlas.texts.kind(slot - 1) : "";
  if (kind === "measured" && atlas.axes.some((axis) => axis.name === "operation")) {
    return "; One operation of a round on one new file: it needs those before it. The jobs that ran,\n; in their order, are in the campaign's directory: batches/NUMBER/job.fio\n";
  }
  const name = String(levelAt(atlas, slot, "target") ?? "");
  const target = targets.find((t) => t.name === name) ?? targets[0];
  const lines: string[] = [];
  const options = new Map<string, string>();
  for (const axis of atlas.axes) {
    if (axis.role !== "option" || LABELS.includes(axis.name)) continue;
    const level = levelAt(atlas, slot, axis.name);
    if (level !== null && level !== undefined) options.set(axis.name, String(level));
  }
  if (!job.has_engine) {
    const depth = Number(optionAt(atlas, slot, "iodepth") ?? 1);
    options.set("ioengine", job.target_engine[name] ?? job.engine_from_depth[depth > 1 ? 1 : 0] ?? "psync");
  }
  const sharing = job.sharing || String(levelAt(atlas, slot, "sharing") ?? "shared");
  const place = target?.placeholder ?? "/path/to/the/target";
  lines.push(
    `; ${atlas.data.campaign.tool_version ? `ioatlas ${atlas.data.campaign.tool_version}, ` : ""}one cell of a campaign`,
  );
  lines.push(`; put the target in place of ${place}`);
  if (kind === "predicted") lines.push("; estimated, not measured");
  if (kind === "imported") lines.push("; imported from another tool: this is the nearest fio job, not what was run");
  if (slot < 0) lines.push(`; not measured: ${atlas.reason(-slot - 1)}`.replace(/[\r\n]+/g, " "));
  lines.push(...(job.global_lines.length ? job.global_lines : ["[global]"]));
  lines.push("", "[cell]");
  if (target?.kind === "uri") lines.push(`uri=${place}`);
  else if (target?.kind === "directory" && sharing === "private") lines.push(`directory=${place}`);
  else if (target?.kind === "directory") lines.push(`filename=${place}/ioatlas-by-hand`);
  else lines.push(`filename=${place.replaceAll(":", "\\:")}`);
  for (const [option, value] of options) lines.push(`${option}=${value}`);
  const bounded = job.constant_work_bounded || job.work_bounded.some((option) => options.has(option));
  if (!bounded) lines.push("time_based=1", `runtime=${windowMs(atlas, slot)}ms`);
  return `${lines.join("\n")}\n`;
}

/** Milliseconds the load ran: what was kept and what was cut before it. */
function windowMs(atlas: Atlas, slot: Slot): number {
  const at = (name: string) => (slot > 0 ? atlas.values.at(name, slot - 1) : Number.NaN);
  const window = at("window_seconds");
  const cut = at("cut_seconds");
  const seconds = Number.isFinite(window)
    ? window + (Number.isFinite(cut) ? cut : 0)
    : atlas.data.job.default_window_seconds;
  return Math.max(1, Math.round(seconds * 1000));
}
