// SPDX-License-Identifier: Apache-2.0
// The page that takes fio's JSON: files are read here, in the browser, and shown by the explorer. Nothing leaves it.
import type { ReportData } from "../lib/report-data.gen";
import { counted } from "../lib/units";
import { type Reading, readFio } from "./fio";
import { reportOf } from "./report";
import "../style/drop.css";

type Show = (data: ReportData) => Promise<void>;

/** Begins the page. template: an empty report of the version that made the page. show: the explorer's. */
export default function start(template: ReportData, show: Show): void {
  const find = (selector: string) => document.querySelector<HTMLElement>(selector) ?? document.body;
  const files = new Map<string, readonly Reading[]>();
  const take = async (dropped: Iterable<File>) => {
    const faults: string[] = [];
    for (const file of dropped) {
      try {
        files.set(file.name, readFio(file.name, await file.text()));
      } catch (error) {
        faults.push(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    find("#drop-faults").textContent = faults.join("\n");
    const name = files.size === 1 ? [...files.keys()].join() : counted(files.size, "fio file");
    if (files.size === 0) return;
    document.body.classList.add("drop-shown");
    find(".drop").role = "banner"; // the report is what matters now
    await show(await reportOf(template, [...files.values()].flat(), name));
  };
  const input = find("#drop-files") as HTMLInputElement;
  input.addEventListener("change", async () => {
    await take(input.files ?? []);
    input.value = "";
  });
  for (const name of ["dragover", "dragleave", "drop"] as const) {
    addEventListener(name, (event) => {
      event.preventDefault();
      document.body.classList.toggle("drop-over", name === "dragover");
      if (name === "drop") take(event.dataTransfer?.files ?? []);
    });
  }
}
